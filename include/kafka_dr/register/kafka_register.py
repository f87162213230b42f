"""The register on a real cluster: a compacted topic with one partition, changed in transactions.

Compare-and-set: take over the group's transactional id (this ends an open transaction of an earlier writer), get the
high watermark, read committed records up to it, compare, write, commit. If another group has an open transaction, the
read waits for it, so that nothing is compared too early. After an unknown outcome the register is read again.

Each read gets the high watermark again and continues where the last read ended, so that reading again right before
each change costs one request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.errors import NotFound, WriterFenced
from kafka_dr.clusters.model import Acl
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import KafkaDrError, OutcomeUnknown, TryAgain
from kafka_dr.register import records
from kafka_dr.register.port import RegisterConflict, bring_up
from kafka_dr.register.state import RegisterState

T = TypeVar("T")

_PARTITION = TopicPartition(records.REGISTER_TOPIC, 0)
_TOPIC_CONFIG = {"cleanup.policy": "compact", "min.compaction.lag.ms": "604800000", "max.message.bytes": "1048588"}


class KafkaRegister:
    """The register of one cluster.

    :param cluster: reached as the operator
    :param deadline_seconds: how long a compare-and-set may try to find out its outcome
    """

    def __init__(self, cluster: KafkaCluster, clock: Clock, *, deadline_seconds: float = 20.0) -> None:
        self._cluster = cluster
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._lock = Lock()
        self._read_to: int | None = None
        self._newest: dict[bytes, bytes] = {}

    def create(self, *, replication_factor: int) -> bool:
        """Create the topic unless it exists, and return whether this call created it."""
        return self._cluster.topics.create(
            records.REGISTER_TOPIC, partitions=1, replication_factor=replication_factor, config=_TOPIC_CONFIG
        )

    def read(self, group: str) -> RegisterState | None:
        """Return the committed record of a group; ``None`` if there is none."""
        value = self._latest().get(records.group_key(group))
        return None if value is None else RegisterState.from_json(value)

    def compare_and_set(self, expected: RegisterState | None, new: RegisterState) -> None:
        """Write ``new`` if the record still is ``expected``; if it is ``new``, there is nothing to do."""
        self._until_known(lambda: self._attempt(expected, new))

    def add_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Journal a fact unless the run has one with that name, and return the one that it has then."""
        return self._until_known(lambda: self._add(group, run, fact, payload))

    def _until_known(self, attempt: Callable[[], T]) -> T:
        """Compare and write in a transaction, again and again until its outcome is known."""
        deadline = self._clock.monotonic() + self._deadline_seconds
        unanswered: OutcomeUnknown | None = None
        while True:
            try:
                return attempt()
            except OutcomeUnknown as error:
                unanswered = error
                self._pause(deadline, unanswered)
            except (WriterFenced, TryAgain) as error:
                self._pause(deadline, unanswered or error)

    def _add(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        with self._writer(group) as writer:
            held = self.facts(group, run)
            if fact in held:
                return dict(held[fact])
            pairs = records.fact_records(group, run, fact, payload)
            writer.write([NewRecord(_PARTITION, key, value) for key, value in pairs])
        return dict(payload)

    def _pause(self, deadline: float, error: KafkaDrError) -> None:
        """Wait before reading again: after another writer's change or a missing answer, only reading shows the outcome.

        :param error: raised when the deadline has passed. A commit without an answer stays an unknown outcome, even if
            later reads fail for another reason
        """
        if self._clock.monotonic() > deadline:
            raise error
        self._clock.sleep(0.1)

    def _attempt(self, expected: RegisterState | None, new: RegisterState) -> None:
        with self._writer(new.group) as writer:
            found = self.read(new.group)
            if found == new:
                return
            if found != expected:
                raise RegisterConflict(expected, found)
            writer.write([NewRecord(_PARTITION, records.group_key(new.group), new.to_json())])

    def copy(self, state: RegisterState) -> RegisterState:
        """Write ``state`` unless this register holds a newer record, and return the record that it holds then."""
        return bring_up(self, state)

    def facts(self, group: str, run: str) -> dict[str, Any]:
        """Return everything journaled by a run, by the name of the fact."""
        return records.facts_of(self._latest(), group, run)

    def history(self, group: str) -> dict[str, dict[str, Any]]:
        """Return everything journaled about a group, by run and fact."""
        return records.history_of(self._latest(), group)

    def write_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> None:
        """Journal a fact; it replaces an earlier one with the same name."""
        self._write(group, records.fact_records(group, run, fact, payload))

    def added_acls(self, group: str, cluster: str) -> frozenset[Acl]:
        """Return the ACLs that this project added to a cluster for a group."""
        return records.added_acls_of(self._latest(), group, cluster)

    def record_added_acls(self, group: str, cluster: str, acls: Collection[Acl]) -> None:
        """Record which ACLs this project added to a cluster for a group; it replaces the former record."""
        self._write(group, records.fence_records(group, cluster, acls))

    def _write(self, group: str, pairs: Collection[tuple[bytes, bytes]]) -> None:
        """Write one record, or several parts in one transaction."""
        wanted = [NewRecord(_PARTITION, key, value) for key, value in pairs]
        if len(wanted) == 1:
            self._cluster.writing.append(wanted, idempotent=False)
            return
        with self._writer(group) as writer:
            writer.write(wanted)

    @contextmanager
    def _writer(self, group: str) -> Iterator[TransactionalWriter]:
        with self._cluster.writing.transactions(f"kafka-dr-register-{group}") as writer:
            yield writer

    def _latest(self) -> dict[bytes, bytes]:
        """Return the newest committed value by key, up to the high watermark of this moment."""
        with self._lock:
            try:
                end = self._cluster.topics.high_watermarks([_PARTITION])[_PARTITION]
            except NotFound:
                self._forget()
                return {}
            if self._read_to is None or end < self._read_to:
                self._forget()
                self._read_from(self._cluster.topics.log_starts([_PARTITION])[_PARTITION], end)
            elif self._read_to < end:
                self._read_from(self._read_to, end)
            return dict(self._newest)

    def _read_from(self, start: int, end: int) -> None:
        """Read what was written since the last read. If a read fails, the next one begins at the log start offset."""
        self._read_to = None
        newest = dict(self._newest)
        for record in self._cluster.log.read({_PARTITION: OffsetRange(start, end)}):
            if record.key is None:
                continue
            if record.value is None:
                newest.pop(record.key, None)
            else:
                newest[record.key] = record.value
        self._newest, self._read_to = newest, end

    def _forget(self) -> None:
        self._read_to, self._newest = None, {}
