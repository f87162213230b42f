"""A protection group of a test's own: topics, groups and rights that no other test touches, in the shared lab."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from kafka_dr.adoption.adopt import adopt
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    ClientSettings,
    KafkaCluster,
    PatternType,
    ResourceType,
    TopicPartition,
)
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.port import Connections
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.register import RegisterState
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.replication.replicator import FlowClients, Replication
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.evidence import RetentionSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup, Topology
from kafka_dr.topology.residency import ResidencySpec
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from lab import rights
from lab.api import Lab

#: The principal of the lab for each role.
_APPLICATION_PREFIXES = {"orders.": "{name}.", "orders-": "{name}-", "billing-": "{name}-"}
#: How often a test's flow looks for new topics. When it starts it looks at once.
_REFRESH_SECONDS = 5
#: Of a group of the tests, content is kept for ever and as it was written, unless a test declares otherwise.
_EVIDENCE: dict[str, object] = {"encryption_connection": None, "retention": RetentionSpec()}
STEPS_BEFORE_APPROVAL = (StepName.PREFLIGHT,)
STEPS_OF_RELEASE = (StepName.CLAIM, StepName.STOP_FLOW, StepName.HAND_BACK, StepName.SETTLE, StepName.REPORT)
STEPS_AFTER_APPROVAL = (
    StepName.CLAIM,
    StepName.FENCE_SOURCE,
    StepName.DRAIN,
    StepName.STOP_FLOW,
    StepName.CUT_OVER_GROUPS,
    StepName.OPEN_TARGET,
    StepName.FLIP_ROUTE,
    StepName.VERIFY,
    StepName.START_REVERSE_FLOW,
    StepName.REPORT,
)


@dataclass(slots=True)
class Protection:
    """One protection group in the lab, and what a test does with it.

    :param lab: the shared lab
    :param folder: for evidence and route
    :param evidence: what the topology says of evidence in addition
    :param endpoints: HTTP services of the test's own, by connection id
    :param access_rules: where the rules of clusters are kept, by cluster; on the brokers if left out
    :param residency: topics that certain clusters alone may hold, by the name of the rule
    :param replication: what runs the flows
    :param neighbours: names of protection groups that are declared as well, each with the prefix of its topics
    """

    lab: Lab
    folder: Path
    name: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")
    partitions: int = 2
    changes: dict[str, object] = field(default_factory=dict)
    evidence: dict[str, object] = field(default_factory=dict)
    neighbours: tuple[str, ...] = ()
    access_rules: dict[str, AccessRulesSpec] = field(default_factory=dict)
    endpoints: dict[str, HttpEndpoint] = field(default_factory=dict)
    residency: dict[str, ResidencySpec] = field(default_factory=dict)
    replication: Callable[[FlowClients], Replication] = MirrorMakerFlows

    @property
    def topic(self) -> str:
        """The group's topic of payments."""
        return f"{self.name}.payments"

    @property
    def topic_prefix(self) -> str:
        """What the names of its topics begin with."""
        return f"{self.name}."

    @property
    def group(self) -> ProtectionGroup:
        """The group as the topology declares it."""
        return self.topology.group(self.name)

    def copy_name(self, topic: str, *, source: str = "east", target: str = "west") -> str:
        """Return what the copy of a topic of one cluster is called on another."""
        naming = self.group.naming(source, target)
        return topic if naming is None else str(naming.copy_of(topic))

    def copy(self, partition: TopicPartition) -> TopicPartition:
        """Return what the copy of a partition of east is called on west."""
        return TopicPartition(self.copy_name(partition.topic), partition.partition)

    @property
    def topology(self) -> Topology:
        """The lab's topology with this group in place of its own, and with quick times."""
        declared = _declared_in(self.lab)
        base = declared.protection_groups["orders"]
        names = {
            "name": self.name,
            "topic_prefixes": (f"{self.name}.",),
            "consumer_group_prefixes": (f"{self.name}-",),
            "transactional_id_prefixes": (f"{self.name}-",),
            "route": base.route.model_copy(update={"path": str(self.folder / "route" / f"{self.name}.json")}),
            "timing": base.timing.model_copy(update={"drain_seconds": 0.5, "transaction_grace_seconds": 0.5}),
            # Each look reads all topics of both clusters with their ACLs, which were half of the brokers' work.
            "flow": base.flow.model_copy(update={"refresh_topics_seconds": _REFRESH_SECONDS}),
            # As long as this can still be met, a report waits for applications, which most tests do not have.
            "objectives": base.objectives.model_copy(update={"write_outage_seconds": 1.0}),
        }
        group = base.model_copy(update={**names, **self.changes})
        evidence = declared.evidence.model_copy(
            update={"root": str(self.folder / "evidence"), **_EVIDENCE, **self.evidence}
        )
        others = {
            name: base.model_copy(
                update={"name": name, "topic_prefixes": (f"{name}.",), "consumer_group_prefixes": (f"{name}-",)}
            )
            for name in self.neighbours
        }
        groups = {self.name: group, **others}
        clusters = {
            name: spec.model_copy(update={"access_rules": self.access_rules.get(name, spec.access_rules)})
            for name, spec in declared.clusters.items()
        }
        changed = {"clusters": clusters, "protection_groups": groups, "evidence": evidence}
        found = declared.model_copy(update={**changed, "data_residency": self.residency})
        return Topology.model_validate(dict(found)) if self.residency else found

    @contextmanager
    def changed(self, **changes: object) -> Iterator[None]:
        """Declare the group otherwise for a while."""
        before = dict(self.changes)
        self.changes.update(changes)
        try:
            yield
        finally:
            self.changes = before

    def clients(self, kind: type[Clients] = Clients) -> Clients:
        """Build the world as Airflow would, from the lab's files instead of connections."""
        topology = self.topology
        root = self.folder / "evidence"
        # Not exist_ok: that asks the file system, which hangs in some tests.
        with suppress(FileExistsError):
            root.mkdir(parents=True)
        return kind(
            topology,
            connections=self.connections(),
            evidence_root=root,
            clock=SystemClock(),
            replication_of=self.replication,
        )

    def cluster(self, name: str, principal: str) -> KafkaCluster:
        """Return a cluster as one of the lab's principals sees it, ``admin`` among them."""
        return KafkaCluster(name, ClientSettings.from_librdkafka(self.lab.client_settings(name, principal)))

    def create(self) -> None:
        """Give the principals their rights on this group's names, and create its topics on every cluster."""
        with ThreadPoolExecutor(len(self.lab.clusters)) as pool:
            list(pool.map(self._create_on, self.lab.settings.names))

    def adopt(self, *, run: str = "adoption") -> StepRecord:
        """Adopt the group and start its flow from the beginning."""
        with self.clients() as clients:
            record = adopt(self.name, clients, run)
            self.start_flow(clients)
            return record

    def start_flow(self, clients: Clients, flow: Flow | None = None) -> None:
        """Start the flow, or another one, as ``dr_flows`` would after an adoption."""
        replicator = clients.replicator(flow or self.flow)
        replicator.ensure(stopped=True)
        replicator.wait_stopped(30)
        replicator.seed({}, epoch=1)
        replicator.resume()
        replicator.wait_running(30)

    def delete_flows(self) -> None:
        """Delete the connectors of this group, so that they do not run during the tests that follow."""
        for cluster in self.lab.clusters:
            endpoint = HttpEndpoint(cluster.connect_url(self.lab.settings))
            with ConnectClient(endpoint, clock=SystemClock()) as connect:
                for name in connect.connectors():
                    if name.startswith(f"dr.{self.name}."):
                        connect.delete(name)

    @property
    def flow(self) -> Flow:
        """Replication east to west."""
        return Flow(self.name, "east", "west")

    def produce(
        self,
        cluster: str,
        count: int,
        *,
        topic: str | None = None,
        principal: str = rights.ORDERS_APP,
        partitions: int | None = None,
    ) -> int:
        """Write numbered records as an application, and return how many were acknowledged."""
        records = [
            NewRecord(
                TopicPartition(topic or self.topic, number % (partitions or self.partitions)),
                f"key-{number % 7}".encode(),
                f"{uuid.uuid4()}".encode(),
                headers=(("n", str(number).encode()),),
            )
            for number in range(count)
        ]
        with self.cluster(cluster, principal) as client:
            return len(client.writing.append(records))

    def commit(self, cluster: str, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets of a consumer group, as its application would have."""
        with self.cluster(cluster, "admin") as client:
            client.groups.set_offsets({group: offsets})

    def topic_ends(self, cluster: str) -> dict[TopicPartition, int]:
        """Return the last stable offsets of the topic of payments."""
        with self.cluster(cluster, "admin") as client:
            return client.topics.last_stable_offsets([TopicPartition(self.topic, n) for n in range(self.partitions)])

    def wait_copied(self, *, source: str = "east", target: str = "west", seconds: float = 30) -> None:
        """Wait until the flow has passed every record of the source."""
        deadline = time.monotonic() + seconds
        with self.clients() as clients:
            replicator = clients.replicator(Flow(self.name, source, target))
            topics = clients.cluster(source, "operator").topics
            owned = topics.describe(n for n in topics.names() if n.startswith(self.topic_prefix))
            partitions = [p for topic in owned.values() for p in topic.partitions]
            while True:
                ends, done = topics.last_stable_offsets(partitions), replicator.positions()
                left = {str(p): end - done.get(p, 0) for p, end in ends.items() if end > done.get(p, 0) + 1}
                if not left:
                    return
                assert time.monotonic() < deadline, f"not copied within {seconds} s: {left}"
                time.sleep(0.1)

    def wait_for_ends(
        self, cluster: str, wanted: Mapping[TopicPartition, int], seconds: float, *, shown: Callable[[], str] = str
    ) -> None:
        """Wait until partitions end at or after these offsets.

        :param shown: what is shown of whoever writes, if they do not
        """
        deadline = time.monotonic() + seconds
        with self.cluster(cluster, "admin") as admin:
            while True:
                ends = admin.topics.high_watermarks(wanted)
                if all(ends[p] >= end for p, end in wanted.items()):
                    return
                assert time.monotonic() < deadline, (ends, wanted, shown())
                time.sleep(0.1)

    def state(self, cluster: str) -> RegisterState | None:
        """Read a cluster's register."""
        with self.clients() as clients:
            return clients.register(cluster).read(self.name)

    @property
    def active(self) -> str:
        """The cluster that the newest record of both registers names."""
        states = filter(None, (self.state(cluster) for cluster in ("east", "west")))
        return max(states, key=lambda state: state.order).active

    def request(self, run: str, **changes: object) -> RunRequest:
        """Return a request for a planned failover, east to west unless changed."""
        fields: dict[str, object] = {"source": "east", "target": "west", "reason": "a test"}
        return RunRequest(self.name, run, **{**fields, **changes})  # type: ignore[arg-type]

    def approve(
        self, request: RunRequest, clients: Clients, *, responder: str = "alice", approved: bool = True
    ) -> None:
        """Ask for the approval and answer it."""
        question = ask_approval(request, clients)
        record_answer(request, clients, Answer(approved, responder, datetime.now(UTC), question.digest))

    def run_until(self, request: RunRequest, last: StepName, clients: Clients) -> list[StepRecord]:
        """Run the steps up to and with ``last``, the approval given."""
        records = [run_step(StepName.PREFLIGHT, request, clients)]
        self.approve(request, clients)
        return [*records, *(run_step(step, request, clients) for step in _through(last))]

    def release(self, request: RunRequest) -> None:
        """Run a whole release, the approval given; each of its steps has to be good."""
        with self.clients() as clients:
            run_step(StepName.PREFLIGHT, request, clients)
            self.approve(request, clients)
            for step in STEPS_OF_RELEASE:
                assert run_step(step, request, clients).good, step

    def refuses_writes(self, cluster: str) -> bool:
        """Ask every leader whether it refuses the probe."""
        return self._verdicts(cluster) == {"refused"}

    def takes_writes(self, cluster: str) -> bool:
        """Ask every leader whether it would take a write by the probe."""
        return self._verdicts(cluster) == {"allowed"}

    @contextmanager
    def stranger_may_write(self, cluster: str) -> Iterator[None]:
        """Let a principal write there for a while that the topology does not name: no fence covers it."""
        allowed = Acl(
            ResourceType.TOPIC,
            f"{self.name}.",
            PatternType.PREFIXED,
            "User:intruder",
            AclOperation.WRITE,
            AclPermission.ALLOW,
        )
        with self.cluster(cluster, "admin") as admin:
            admin.acls.add([allowed])
            try:
                yield
            finally:
                admin.acls.remove([allowed])

    def _verdicts(self, cluster: str) -> set[str]:
        with self.cluster(cluster, rights.PROBE) as client:
            topic = client.topics.describe([self.topic])[self.topic]
            answers = client.write_permission.ask(topic.partitions)
            return {answer.verdict for answer in answers}

    def connections(self) -> Connections:
        """The lab's, and one for each cluster and principal that a test declares."""
        source = self.lab.connections()

        def get(conn_id: str) -> Connection:
            if conn_id in source.stored:
                return source.get(conn_id)
            _, cluster, principal = conn_id.split("_")
            return Connection(conn_id, extra=self.lab.client_settings(cluster, principal))

        found = Connections.stored(get)
        return replace(found, http=lambda conn_id: self.endpoints.get(conn_id) or found.http(conn_id))

    def rights_on(self, cluster: str) -> frozenset[Acl]:
        """Return what the owners of a cluster let everybody do with this group's names."""
        return frozenset(self._acls(cluster))

    def _create_on(self, cluster: str) -> None:
        with self.cluster(cluster, "admin") as admin:
            admin.acls.add(self._acls(cluster))
            for topic, partitions in ((self.topic, self.partitions), (f"{self.name}.dr-canary", 1)):
                admin.topics.create(
                    topic, partitions=partitions, replication_factor=min(self.lab.settings.brokers, 2), config={}
                )

    def _acls(self, cluster: str) -> Iterable[Acl]:
        """Return the lab's rights, with this group's names in place of the lab's own."""
        for acl in self.lab.allowed_on(cluster):
            if acl.pattern is PatternType.PREFIXED and acl.name in _APPLICATION_PREFIXES:
                yield replace(acl, name=_APPLICATION_PREFIXES[acl.name].format(name=self.name))


def _declared_in(lab: Lab) -> Topology:
    """Return the lab's topology, in which replication logs in as everybody does in this lab."""
    declared = _loaded(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), tuple(lab.environ.items()))
    login = {"sasl_mechanism": lab.settings.mechanism}
    clusters = {
        name: spec.model_copy(update={"replicator": spec.replicator.model_copy(update=login)})
        for name, spec in declared.clusters.items()
    }
    return declared.model_copy(update={"clusters": clusters})


@cache
def _loaded(path: Path, environ: tuple[tuple[str, str], ...]) -> Topology:
    return load(path, dict(environ))


def _through(last: StepName) -> tuple[StepName, ...]:
    if last not in STEPS_AFTER_APPROVAL:
        return ()
    return STEPS_AFTER_APPROVAL[: STEPS_AFTER_APPROVAL.index(last) + 1]
