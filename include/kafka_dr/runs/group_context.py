"""What is known of one protection group: its clients, its topics and consumer groups, and who may write to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Literal, TypeVar

from kafka_dr import parallel
from kafka_dr.clusters import KafkaCluster, Topic, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import proof
from kafka_dr.fencing.change import AclChanges
from kafka_dr.fencing.required import required_now
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs import register_read, topics_of_patterns, unfiled
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.register_guard import Condition, RegisterGuard
from kafka_dr.runs.request import StepName
from kafka_dr.runs.sealing import sealed_since
from kafka_dr.topology import ProtectionGroup

#: How long brokers get to act on an ACL that they have acknowledged.
PROOF_SECONDS = 5.0

T = TypeVar("T")


class GroupContext:
    """A protection group and the clients that reach its clusters; needs no run.

    :param group: the name of the protection group
    :param clients: reach every cluster, register, flow and route
    :raises UnknownName: the topology declares no such group
    """

    def __init__(self, group: str, clients: Clients) -> None:
        self.clients = clients
        #: The group as the topology declares it, without the topics that its patterns match.
        self.declared = clients.topology.group(group)
        self._looked = False
        self._looking = Lock()
        self.clock = clients.clock
        #: The clusters that have just not answered, each with its error: they are not waited for again.
        self.known_silent: Mapping[str, KafkaDrError] = {}
        #: What several checks read together, each cluster once.
        self.read_cache = ReadCache(topics=self.topics, acls=lambda cluster: self.operator(cluster).acls.list())

    @property
    def group(self) -> ProtectionGroup:
        """The group, with the topics that its patterns match: looked up once, on the clusters that answer."""
        if not self.declared.topic_patterns:
            return self.declared
        with self._looking:
            if not self._looked:
                topics_of_patterns.look_in_time(self.declared, self.clients, self.known_silent)
                self._looked = True
        return self.clients.group(self.declared.name)

    def look_for_topics(self, *clusters: str) -> frozenset[str]:
        """Look again on clusters that have to answer which topics the patterns match; return those that are new.

        :raises KafkaDrError: a cluster does not answer
        """
        if not self.declared.topic_patterns:
            return frozenset()
        before = frozenset(self.group.matched_topics)
        topics_of_patterns.look(self.declared, self.clients, clusters)
        return frozenset(self.group.matched_topics) - before

    def operator(self, cluster: str) -> KafkaCluster:
        """Return a cluster as the operator sees it."""
        return self.clients.cluster(cluster, "operator")

    def probe(self, cluster: str) -> KafkaCluster:
        """Return a cluster as the probe sees it, which is fenced as the applications are."""
        return self.clients.cluster(cluster, "probe")

    def topics(self, cluster: str) -> dict[str, Topic]:
        """Describe the group's topics on a cluster, now."""
        topics = self.operator(cluster).topics
        return topics.describe(filter(self.group.owns_topic, topics.names()))

    def topic_ids(self, cluster: str) -> dict[str, str]:
        """Return the ids of the group's topics on a cluster, now; a topic that is created again has a new id."""
        return {name: topic.topic_id for name, topic in self.topics(cluster).items()}

    def partitions(self, cluster: str) -> tuple[TopicPartition, ...]:
        """Resolve the group's topics on a cluster, now."""
        return tuple(p for _, topic in sorted(self.topics(cluster).items()) for p in topic.partitions)

    def connect_readers(self) -> None:
        """Start connecting to both logs, for a step that will compare them."""
        for cluster in self.group.clusters:
            self.clients.cluster(cluster, "audit").connect_reader()

    def writes_refused(self, cluster: str, *, by: Literal["probe", "replicator"] = "probe") -> Check:
        """Ask every leader of the group's partitions, now, and say whether each refuses a write."""
        return self._asked(proof.writes_refused, cluster, by)

    def writes_allowed(self, cluster: str, *, by: Literal["probe", "replicator"] = "probe") -> Check:
        """Ask every leader of the group's partitions, now, and say whether each would take a write."""
        return self._asked(proof.writes_allowed, cluster, by)

    def writes_authorized(self, cluster: str) -> Check:
        """Ask every leader of the group's partitions, now, and say whether every authorizer lets the probe write."""
        return self._asked(proof.writes_authorized, cluster, "probe")

    def _asked(self, prove: Callable[..., Check], cluster: str, by: Literal["probe", "replicator"]) -> Check:
        return prove(
            self.clients.cluster(cluster, by),
            self.partitions(cluster),
            clock=self.clock,
            deadline_seconds=PROOF_SECONDS,
            seen_by=self.operator(cluster),
        )

    def consumer_groups(self, cluster: str) -> list[str]:
        """Return the group's consumer groups on a cluster, now; with Kafka Streams' own groups if any of them moves."""
        operator = self.operator(cluster)
        names = {*operator.groups.names()}
        if self.declared.groups_policy.streams_moved:
            # The clients' list of consumer groups omits groups of Kafka Streams' own protocol.
            names |= {each.group for each in operator.group_kinds.listed() if each.kind == "streams"}
        return sorted(filter(self.declared.owns_group, names))

    def moved_groups(self, cluster: str) -> list[str]:
        """Return the group's consumer groups on a cluster whose offsets a failover moves.

        The topology can exclude groups from the move; their owners then set the offsets themselves.
        """
        left_behind = self.group.groups_policy.left_behind
        return [name for name in self.consumer_groups(cluster) if name not in left_behind]

    def read_register_state(self) -> RegisterState | None:
        """Read the registers of the group's clusters at once and return the highest record.

        :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read
        """
        return register_read.decided(
            self.declared.name,
            self.each_cluster(lambda cluster: self.clients.register(cluster).read(self.declared.name)),
        )

    def journals(self, run: str) -> list[dict[str, Any]]:
        """Return what a run journaled, of each register that answers."""
        found = self.each_cluster(lambda cluster: self.clients.register(cluster).facts(self.group.name, run))
        return [facts for facts in found.values() if not isinstance(facts, KafkaDrError)]

    def is_unsealed(self, state: RegisterState) -> bool:
        """Return whether no sealed evidence holds the last step of the run that wrote the record.

        A register that knows a seal made since then says so; else the evidence is asked. An adoption does not count:
        another adoption completes it, whatever its evidence says.

        :raises EvidenceChanged: its manifest contradicts itself
        """
        if state.verb == "adopt":
            return False
        journals = self.journals(state.run)
        if sealed_since(journals, state.at):
            return bool(unfiled.waiting_in(journals))
        last = "roll_back" if state.verb == "roll_back" else StepName.REPORT.value
        return not self.clients.evidence.is_sealed_with(state.group, state.run, last)

    def each_cluster(self, ask: Callable[[str], T]) -> dict[str, T | KafkaDrError]:
        """Ask every cluster of the group at the same time; an error replaces an answer."""
        asked = parallel.ask_each(ask, [name for name in self.declared.clusters if name not in self.known_silent])
        return {**asked, **self.known_silent}

    def guard_by(self, cluster: str, condition: Condition) -> RegisterGuard:
        """Return a guard that reads the register of one cluster."""
        name = self.group.name
        return RegisterGuard(
            name, f"the register of {cluster}", lambda: self.clients.register(cluster).read(name), condition
        )

    def guard_by_all(self, condition: Condition, *, first: tuple[Callable[[], None], ...] = ()) -> RegisterGuard:
        """Return a guard that reads the registers of all clusters; the one that decides has to answer.

        :param first: see :class:`RegisterGuard`
        """
        return RegisterGuard(self.group.name, "the register", self.read_register_state, condition, first)

    def acl_changes(self, cluster: str, guard: RegisterGuard) -> AclChanges:
        """Return what changes the group's ACLs on a cluster.

        :param guard: asked right before each change
        """

        def permission() -> RegisterState:
            # Whatever answers at an address is not touched before it is known to be the declared cluster.
            self.clients.require_declared(cluster)
            return guard.require()

        return AclChanges(
            self.group.name,
            self.operator(cluster),
            self.clients.register(cluster),
            permission=permission,
            required=lambda: required_now(self.group, guard.read(), cluster),
            clock=self.clock,
        )
