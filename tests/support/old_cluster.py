"""The old cluster after a disaster: what an unplanned run leaves in registers, journal and clusters, done by hand.

Nothing here is a step of the project: what a failback begins with is made by a test, so that it owns the truth.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from confluent_kafka import Producer

from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.fencing import plan
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.named_rows import positions_to_json
from kafka_dr.offsets.translate.pipeline import translate
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import fenced_on_return, handed_over, without_source
from kafka_dr.routing import Route
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.register_guard import AsksFor, RegisterGuard
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.retention_hold import hold_retention
from kafka_dr.runs.run import Run
from lab import rights
from support import outside_view
from support.disaster import Disaster
from support.protection import Protection
from support.register_states import source_given_up
from support.switched_group import SwitchedGroup

_SECONDS = 60.0
RUN = "disaster"


@dataclass(slots=True)
class OldClusterGroup:
    """A group that was adopted on east and is going to be left for west.

    :param written: values that were acknowledged, by the cluster that took them
    :param run: the unplanned run that left it
    """

    protection: Protection
    written: dict[str, list[bytes]] = field(default_factory=lambda: {"east": [], "west": []})
    run: str = RUN

    def write(
        self, cluster: str, count: int, *, topic: str | None = None, keys: int = 7, partition: int | None = None
    ) -> list[bytes]:
        """Write records as an application, and return the values that were acknowledged."""
        partitions = self.protection.partitions
        values = [uuid.uuid4().bytes for _ in range(count)]
        records = [
            NewRecord(
                TopicPartition(topic or self.protection.topic, number % partitions if partition is None else partition),
                f"key-{number % keys}".encode() if keys else None,
                value,
                (("n", str(number).encode()), ("empty", b"")),
            )
            for number, value in enumerate(values)
        ]
        with self.protection.cluster(cluster, rights.ORDERS_APP) as client:
            client.writing.append(records)
        self.written[cluster] += values
        return values

    def write_one(self, cluster: str, topic: str, *, size: int) -> bytes:
        """Write one record with a value of this size, and return the value."""
        settings = self.protection.lab.client_settings(cluster, rights.ORDERS_APP)
        producer = Producer({**settings, "message.max.bytes": size + 1024})
        value = (uuid.uuid4().bytes * (1 + size // 16))[:size]
        producer.produce(topic, partition=0, value=value)
        assert producer.flush(_SECONDS) == 0
        self.written[cluster].append(value)
        return value

    def write_aborted(self, cluster: str, count: int) -> None:
        """Write records in a transaction that is aborted: nobody has an acknowledgement for them."""
        settings = self.protection.lab.client_settings(cluster, rights.BILLING_APP)
        producer = Producer({**settings, "transactional.id": f"{self.protection.name}-aborted"})
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        for number in range(count):
            producer.produce(self.protection.topic, partition=number % self.protection.partitions, value=b"never")
        producer.flush(_SECONDS)
        producer.abort_transaction(_SECONDS)

    def write_committed(self, cluster: str, count: int) -> list[bytes]:
        """Write records in one transaction that is committed."""
        settings = self.protection.lab.client_settings(cluster, rights.BILLING_APP)
        producer = Producer({**settings, "transactional.id": f"{self.protection.name}-committed"})
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        values = [uuid.uuid4().bytes for _ in range(count)]
        for number, value in enumerate(values):
            producer.produce(
                self.protection.topic, partition=number % self.protection.partitions, key=b"tx", value=value
            )
        producer.commit_transaction(_SECONDS)
        self.written[cluster] += values
        return values

    def stop_flow(self) -> None:
        """Stop replication when everything is copied: what is written from now on is never copied."""
        self.wait_equal()
        with self.protection.clients() as clients:
            replicator = clients.replicator(self.protection.flow)
            replicator.stop()
            assert replicator.wait_stopped(_SECONDS).state == "stopped"

    def wait_equal(self) -> None:
        """Wait until both clusters hold the same."""
        deadline = time.monotonic() + _SECONDS
        while outside_view.contents(self.protection, "east") != outside_view.contents(self.protection, "west"):
            assert time.monotonic() < deadline, "east and west differ still"
            time.sleep(0.2)

    def leave(self) -> None:
        """Leave east for west without asking it: what an unplanned run does, and what it journals."""
        with self.protection.clients() as clients:
            run = Run(RunRequest(self.protection.name, RUN, "east", "west", verb="unplanned_failover"), clients)
            before = run.register_state
            assert before is not None
            registers = {name: clients.register(name) for name in ("east", "west")}
            at = datetime.now(UTC)
            state = source_given_up(before, RUN, at)
            registers["west"].compare_and_set(before, state)
            self._fact(clients, "claim", {"source": "east", "target": "west", "epoch": state.epoch})
            west = run.operator("west")
            run.acl_changes("west", _permits_everything(run)).add(plan.flow_fence(run.group))
            west.transactions.take_over(clients.replicator(run.flow).transactional_ids())
            ends = west.topics.high_watermarks(run.partitions("west"))
            self._fact(clients, "target_ends", {"ends": positions_to_json(ends)})
            committed = run.operator("east").groups.offsets(run.consumer_groups("east"))
            placed = translate(basis_of(run), committed, run.group.groups_policy)
            for position in placed:
                assert position.target_offset is not None
                west.groups.set_offsets({position.group: {position.partition: position.target_offset}})
            state = _set(clients, "west", state, handed_over(state, run=RUN, at=at))
            run.acl_changes("west", _permits_everything(run)).lift(plan.standby(run.group))
            route = clients.router(run.group)
            servers = clients.topology.cluster("west").route_bootstrap_servers
            known = route.read()
            route.switch(
                expected_epoch=known.epoch if known else None,
                route=Route(self.protection.name, "west", servers, state.epoch, at),
            )
            seed = {"epoch": state.epoch, "source": "west", "target": "east", "held": True, "target_positions": []}
            self._fact(clients, "flow_seed", {**seed, "source_positions": positions_to_json(ends)})
            _set(clients, "west", state, without_source(state, run=RUN, fenced=False, at=at))

    def leave_by_the_verb(self) -> None:
        """Leave east for west by a real unplanned failover: east lives, is fenced, and drained in vain."""
        timing = self.protection.group.timing.model_copy(update={"confirm_seconds": 0.2})
        self.protection.changes["timing"] = timing
        disaster = Disaster.of(SwitchedGroup(self.protection))
        disaster.look()
        request = disaster.request()
        disaster.go(StepName.REPORT, request)
        self.run = request.run
        assert disaster.state().phase is Phase.DIVERGED

    def topics_that_keep_all(self, cluster: str) -> set[str]:
        """Return the applications' topics of which nothing expires, however old or many their records are."""
        with self.protection.cluster(cluster, "admin") as admin:
            owned = [name for name in admin.topics.names() if self.protection.group.owns_topic(name)]
            configs = admin.configs.describe(owned).configs
        all_kept = {name for name, each in configs.items() if each["retention.ms"].value == "-1"}
        ours = {self.protection.group.canary_topic, *(name for name in owned if name.endswith(".stranded"))}
        return all_kept - ours

    def own_retention(self, cluster: str, *topics: str) -> list[str | None]:
        """Return what topics have set as their retention in milliseconds; ``None`` where they inherit it."""
        with self.protection.cluster(cluster, "admin") as admin:
            configs = admin.configs.describe(topics).configs
        found = [configs[name]["retention.ms"] for name in topics]
        return [each.value if each.origin.explicit else None for each in found]

    def fence_on_return(self) -> None:
        """East is back: fence it, let nothing expire there, and say so in the registers."""
        with self.protection.clients() as clients:
            run = Run(RunRequest(self.protection.name, RUN), clients)
            changes = run.acl_changes("east", _permits_everything(run))
            denies: frozenset[Acl] = plan.application_denies(run.group)
            changes.add(denies, plan.probe_fence(run.group) | plan.probe_freeze(run.group))
            state = clients.register("west").read(self.protection.name)
            assert state is not None
            hold_retention(run, state, "east", _permits_everything(run))
            state = _set(clients, "west", state, fenced_on_return(state, at=datetime.now(UTC)))
            clients.register("east").copy(state)

    def _fact(self, clients: Clients, name: str, payload: Mapping[str, object]) -> None:
        clients.register("west").write_fact(self.protection.name, RUN, name, payload)


def _set(clients: Clients, cluster: str, before: RegisterState, after: RegisterState) -> RegisterState:
    clients.register(cluster).compare_and_set(before, after)
    return after


def _permits_everything(run: Run) -> RegisterGuard:
    """Permit every change: no run owns the group here."""
    return run.guard_by("west", AsksFor(lambda _: True, "anything"))
