"""A second thing that runs flows, so that nobody relies on the first: threads that copy, on real brokers.

A thread reads with a plain consumer and writes with a transactional producer. It commits its positions on the target in
the transaction of the records, as the offsets of a consumer group: partition and epoch of the seed, and no topic of
its own. It writes no offset syncs. Threads outlive the clients that started them, as workers of Connect do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.writing import NewRecord, produce
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.positions import CommittedOffset, metadata_of
from kafka_dr.replication.copy_settings import CopySettings, read_limits
from kafka_dr.replication.existing.port import ExistingReplication
from kafka_dr.replication.flow import Flow, FlowNotFound
from kafka_dr.replication.replicator import (
    Ensured,
    FlowClients,
    FlowsByHand,
    FlowSetup,
    FlowState,
    FlowStatus,
    Positions,
    PositionsTopic,
    Replicator,
)
from kafka_dr.topology.model import ProtectionGroup
from lab import rights
from support.protection import Protection

_SECONDS = 30.0
_REFRESH_SECONDS = 1.0
_BATCH = 500


@dataclass(slots=True)
class _Copying:
    """A flow that exists."""

    group: ProtectionGroup
    state: FlowState = "stopped"
    detail: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


@dataclass(slots=True)
class CopyingThreads:
    """All flows of a test, by their names."""

    protection: Protection
    flows: dict[Flow, _Copying] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def copying(cls, protection: Protection) -> Iterator[CopyingThreads]:
        """Let threads copy what a test protects, and end them after it."""
        made = cls(protection)
        protection.replication = made.of
        denied = {name: made._rights() for name in ("east", "west")}
        for name, acls in denied.items():
            with protection.cluster(name, "admin") as admin:
                admin.acls.add(acls)
        try:
            yield made
        finally:
            for flow in list(made.flows):
                made.end(flow)
            for name, acls in denied.items():
                with protection.cluster(name, "admin") as admin:
                    admin.acls.remove(acls)

    def of(self, clients: FlowClients) -> ThreadReplication:
        """Return the flows as clients of the project reach them."""
        return ThreadReplication(self, clients)

    def end(self, flow: Flow) -> None:
        """End the thread of a flow."""
        found = self.flows[flow]
        found.stopping.set()
        if found.thread is not None:
            found.thread.join(_SECONDS)

    def start(self, flow: Flow) -> None:
        """Start a thread for a flow, unless one runs."""
        found = self.flows[flow]
        # A thread that has failed is alive for a moment after it says so.
        copies = found.state != "failed" and not found.stopping.is_set()
        if found.thread is not None and found.thread.is_alive() and copies:
            return
        self.end(flow)
        found.stopping, found.state, found.detail = threading.Event(), "unassigned", ""
        found.thread = threading.Thread(target=self._run, args=(flow, found), name=flow.name, daemon=True)
        found.thread.start()

    def offsets_of(self, flow: Flow) -> dict[TopicPartition, int]:
        """Return what the target keeps of a flow's positions."""
        with self.protection.cluster(flow.target, "admin") as admin:
            return admin.groups.offsets([group_of(flow)])[group_of(flow)]

    def _rights(self) -> tuple[Acl, ...]:
        named = (
            (ResourceType.GROUP, f"dr-{self.protection.name}", AclOperation.READ),
            (ResourceType.TRANSACTIONAL_ID, f"dr-{self.protection.name}", AclOperation.ALL),
        )
        return tuple(
            Acl(kind, name, PatternType.PREFIXED, f"User:{rights.REPLICATOR}", operation, AclPermission.ALLOW)
            for kind, name, operation in named
        )

    def _run(self, flow: Flow, found: _Copying) -> None:
        try:
            _Copier(self, flow, found).copy()
        except (KafkaException, KafkaDrError) as error:
            # What ends it while it is to stop is that: its transactional id was taken over.
            found.state, found.detail = ("stopped", "") if found.stopping.is_set() else ("failed", str(error))
        else:
            found.state = "stopped"


class _Copier:
    """One life of a thread."""

    def __init__(self, threads: CopyingThreads, flow: Flow, found: _Copying) -> None:
        self._threads, self._flow, self._found = threads, flow, found
        login = threads.protection.lab.client_settings
        self._consumer = Consumer(
            {
                **login(flow.source, rights.REPLICATOR),
                **{"group.id": group_of(flow), "enable.auto.commit": False, "isolation.level": "read_committed"},
                **{"auto.offset.reset": "earliest", "fetch.wait.max.ms": 50},
            }
        )
        self._producer = Producer(
            {
                **login(flow.target, rights.REPLICATOR),
                **{"transactional.id": transactional_id(flow), "message.max.bytes": 96 * 1024 * 1024, "linger.ms": 0},
            }
        )
        self._next: dict[TopicPartition, int] = {}
        self._epoch = ""

    def copy(self) -> None:
        """Copy until the flow is to stop."""
        try:
            self._producer.init_transactions(_SECONDS)
            stored = self._threads.offsets_of(self._flow)
            self._next = {partition: int(offset) for partition, offset in stored.items()}
            self._epoch = _epoch_of(stored)
            looked = 0.0
            while not self._found.stopping.is_set():
                if time.monotonic() - looked > _REFRESH_SECONDS:
                    with suppress(TryAgain):  # a source that is dead for a while ends no flow
                        self._follow_topics()
                    looked = time.monotonic()
                    self._found.state = "running"
                if batch := [each for each in self._consumer.consume(_BATCH, 0.1) if not each.error()]:
                    self._write(batch)
        finally:
            self._consumer.close()

    def _write(self, batch: list[Message]) -> None:
        """Copy records and positions in one transaction."""
        failed: list[str] = []
        passed: dict[TopicPartition, int] = {}

        def delivered(error: object, _: object) -> None:
            if error:
                failed.append(str(error))

        self._producer.begin_transaction()
        for each in batch:
            partition = TopicPartition(str(each.topic()), int(each.partition() or 0))
            kind, at = each.timestamp()
            headers = tuple((name, value) for name, value in each.headers() or ())
            record = NewRecord(partition, each.key(), each.value(), headers, at if kind else None)
            produce(self._producer, record, delivered)
            passed[partition] = int(each.offset() or 0) + 1
        offsets = [ClientPartition(p.topic, p.partition, end, metadata=self._epoch) for p, end in passed.items()]
        self._producer.flush(_SECONDS)
        if failed:
            raise Refused(f"the target took no copy: {failed[0]}")
        self._producer.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), _SECONDS)
        self._producer.commit_transaction(_SECONDS)
        self._next |= passed

    def _follow_topics(self) -> None:
        """Create on the target what is missing there, and read from every partition."""
        protection, flow = self._threads.protection, self._flow
        with protection.cluster(flow.source, "admin") as source, protection.cluster(flow.target, "admin") as target:
            names = [name for name in source.topics.names() if self._found.group.owns_topic(name)]
            there = target.topics.names()
            described = source.topics.existing(names)
            for name, topic in described.items():
                if name not in there:
                    target.topics.create(name, partitions=len(topic.partitions), replication_factor=1, config={})
        wanted = {p for topic in described.values() for p in topic.partitions}
        if wanted != {TopicPartition(p.topic, p.partition) for p in self._consumer.assignment()}:
            self._consumer.assign([ClientPartition(p.topic, p.partition, self._next.get(p, 0)) for p in wanted])


class ThreadReplicator:
    """One flow, as a thread."""

    def __init__(self, threads: CopyingThreads, clients: FlowClients, flow: Flow, group: ProtectionGroup) -> None:
        self._threads, self._clients, self._flow, self._group = threads, clients, flow, group

    @property
    def flow(self) -> Flow:
        return self._flow

    @property
    def described(self) -> str:
        return f"the thread {self._flow.name}"

    @property
    def positions_topic(self) -> PositionsTopic | None:
        return None

    @property
    def _found(self) -> _Copying:
        if self._flow not in self._threads.flows:
            raise FlowNotFound(f"there is no thread {self._flow.name}")
        return self._threads.flows[self._flow]

    def status(self) -> FlowStatus:
        if self._flow not in self._threads.flows:
            return FlowStatus("absent", 0, "")
        found = self._found
        return FlowStatus(found.state, int(found.thread is not None and found.thread.is_alive()), found.detail)

    def refusals(self) -> tuple[str, ...]:
        return ()

    def setup(self) -> FlowSetup | None:
        if self._flow not in self._threads.flows:
            return None
        return FlowSetup(frozenset(self._found.group.matched_topics))

    def differing(self) -> tuple[str, ...]:
        known = self._threads.flows.get(self._flow)
        return () if known is not None and known.group.matched_topics == self._group.matched_topics else ("topics",)

    def ensure(self, *, stopped: bool = True) -> Ensured:
        if self._flow not in self._threads.flows:
            self._threads.flows[self._flow] = _Copying(self._group)
            if not stopped:
                self.resume()
            return "created"
        if not self.differing():
            return "unchanged"
        self._found.group = self._group
        return "updated"

    def stop(self) -> None:
        found = self._found
        found.stopping.set()
        if found.thread is None or not found.thread.is_alive():
            found.state, found.detail = "stopped", ""

    def wait_stopped(self, deadline_seconds: float) -> FlowStatus:
        found = self._found
        if found.thread is not None:
            found.thread.join(deadline_seconds)
            if found.thread.is_alive():
                raise TryAgain(f"{self.described} runs after {deadline_seconds:g} s, expected stopped")
        if found.stopping.is_set():
            # It was stopped, whatever it had failed with.
            found.state, found.detail = "stopped", ""
        return self.status()

    def resume(self) -> None:
        if self._found.state != "failed":
            self._threads.start(self._flow)

    def wait_running(self, deadline_seconds: float) -> FlowStatus:
        deadline = time.monotonic() + deadline_seconds
        while (status := self.status()).state not in ("running", "failed"):
            if time.monotonic() > deadline:
                raise TryAgain(f"{self.described} is {status} after {deadline_seconds:g} s, expected running")
            time.sleep(0.05)
        return status

    def restart_failed(self) -> None:
        if self._found.state == "failed":
            self._threads.start(self._flow)

    def remove(self, *, forget: bool = False) -> None:
        if self._flow not in self._threads.flows:
            return
        self._threads.end(self._flow)
        del self._threads.flows[self._flow]
        if forget:
            with self._threads.protection.cluster(self._flow.target, "admin") as admin:
                admin.groups.delete([group_of(self._flow)])

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self.where().next_to_read)

    def where(self) -> Positions:
        assert self._found
        stored = self._threads.offsets_of(self._flow)
        epoch = _epoch_of(stored)
        return Positions({p: int(offset) for p, offset in stored.items() if offset > 0}, int(epoch) if epoch else None)

    def committed(self, *, remembered: bool = False) -> Mapping[TopicPartition, int]:
        return {p: int(offset) for p, offset in self._threads.offsets_of(self._flow).items() if offset > 0}

    def seed(self, positions: Mapping[TopicPartition, int], *, epoch: int) -> None:
        if (state := self.status().state) != "stopped":
            raise Refused(f"{self._flow} is {state}: positions can only be set while it is stopped, so stop it first")
        with self._threads.protection.cluster(self._flow.target, "admin") as admin:
            owned = admin.topics.existing(name for name in admin.topics.names() if self._group.owns_topic(name))
            every = {p for topic in owned.values() for p in topic.partitions} | positions.keys()
            wanted = {p: CommittedOffset(positions.get(p, 0), str(epoch)) for p in every}
            admin.groups.set_offsets({group_of(self._flow): wanted})

    def copy_settings(self) -> CopySettings:
        source = self._clients.cluster(self._flow.source, "operator")
        names = [name for name in source.topics.names() if self._group.owns_topic(name)]
        return CopySettings.of(read_limits(source, names))

    def transactional_ids(self) -> tuple[str, ...]:
        return (transactional_id(self._flow),)


@dataclass(frozen=True, slots=True)
class ThreadReplication:
    """The flows of a test, as clients of the project reach them."""

    threads: CopyingThreads
    clients: FlowClients

    def replicator(self, flow: Flow, group: ProtectionGroup) -> Replicator:
        return ThreadReplicator(self.threads, self.clients, flow, group)

    def flows_into(self, cluster: str) -> tuple[str, ...]:
        return tuple(sorted(flow.name for flow in self.threads.flows if flow.target == cluster))

    def by_hand(self, cluster: str) -> FlowsByHand:
        raise Refused(f"nobody starts or stops the threads to {cluster} by hand")

    def existing(self, flow: Flow) -> ExistingReplication:
        raise Refused(f"threads replace nothing that copies {flow}")


def _epoch_of(stored: Mapping[TopicPartition, int]) -> str:
    """Return the epoch that is kept with positions; the client in Python adds a NUL to it."""
    return next(filter(None, map(metadata_of, stored.values())), "").rstrip("\0")


def group_of(flow: Flow) -> str:
    """Return the consumer group of the target that keeps a flow's positions."""
    return f"dr-{flow.group}-{flow.source}-to-{flow.target}"


def transactional_id(flow: Flow) -> str:
    """Return the transactional id of a flow."""
    return group_of(flow)


def watched_by(protection: Protection, threads: CopyingThreads) -> Any:
    """Return what replaces ``watch_flow`` in a job of Spark: a flow of threads."""

    def watch(flow: Flow, **_: object) -> Replicator:
        with protection.clients() as clients:
            return ThreadReplicator(threads, clients, flow, clients.group(flow.group))

    return watch
