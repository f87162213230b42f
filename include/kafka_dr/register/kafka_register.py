"""The register on a real cluster: a compacted topic with one partition, changed in transactions.

Compare-and-set: take over the group's transactional id (this ends an open transaction of an earlier writer), get the
high watermark, read committed records up to it, compare, write, commit. If another group has an open transaction, the
read waits for it, so that nothing is compared too early. After an unknown outcome the register is read again.

The group's transactional writer is kept: most of a write is connecting. A kept writer is safe, as a later writer fences
it: its next commit is refused, and everything is read and compared again.

Each read gets the high watermark again and continues where the last read ended, so that reading again right before
each change costs one request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.errors import NotFound, WriterFenced
from kafka_dr.clusters.model import Acl
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import OutcomeUnknown, Refused, TryAgain
from kafka_dr.register import records
from kafka_dr.register.holding import Author
from kafka_dr.register.port import RegisterConflict, bring_up, permitted_fact
from kafka_dr.register.state import RegisterState
from kafka_dr.waiting import wait_until

_PARTITION = TopicPartition(records.REGISTER_TOPIC, 0)
_TOPIC_CONFIG = {"cleanup.policy": "compact", "min.compaction.lag.ms": "604800000", "max.message.bytes": "1048588"}


@dataclass(slots=True)
class _KeptWriter:
    """The writer of a group, if there is one, and who may use it."""

    lock: Lock = field(default_factory=Lock)
    writer: TransactionalWriter | None = None


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
        self._writers: dict[str, _KeptWriter] = {}
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

        def changes(held: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
            value = held.get(records.group_key(new.group))
            found = None if value is None else RegisterState.from_json(value)
            if found == new:
                return []
            if found != expected:
                raise RegisterConflict(expected, found)
            return [(records.group_key(new.group), new.to_json())]

        self._change(new.group, changes)

    def add_fact(self, group: str, run: str, fact: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Journal a fact unless the run has one with that name, and return the one that it has then."""

        def changes(held: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
            return [] if fact in records.facts_of(held, group, run) else new

        new = records.fact_records(group, run, fact, payload)
        held = self._change(group, changes)
        return dict(records.facts_of(held, group, run).get(fact, payload))

    def _change(
        self, group: str, changes: Callable[[Mapping[bytes, bytes]], Collection[tuple[bytes, bytes]]]
    ) -> Mapping[bytes, bytes]:
        """Read the register, decide, and write in a transaction, again and again until the outcome is known.

        :param changes: given the newest value by key, returns what to write; it raises what forbids that
        :returns: what the register held when that was decided
        :raises OutcomeUnknown: it was not found out before the deadline whether it was written
        """
        unanswered: OutcomeUnknown | None = None

        def attempt() -> Mapping[bytes, bytes]:
            nonlocal unanswered
            try:
                with self._writer(group) as writer:
                    held = self._latest()
                    if wanted := changes(held):
                        writer.write([NewRecord(_PARTITION, key, value) for key, value in wanted])
                return held
            except OutcomeUnknown as error:
                unanswered = error
                raise
            except (WriterFenced, TryAgain) as error:
                # A commit without an answer stays an unknown outcome, even if later reads fail for another reason.
                raise unanswered or error from error

        # After another writer's change or a missing answer, only reading shows the outcome.
        again = (OutcomeUnknown, WriterFenced, TryAgain)
        return wait_until(attempt, lambda _: True, clock=self._clock, seconds=self._deadline_seconds, retry=again)

    def copy(self, state: RegisterState) -> RegisterState:
        """Write ``state`` unless this register holds a newer record, and return the record that it holds then."""
        return bring_up(self, state)

    def facts(self, group: str, run: str) -> dict[str, Any]:
        """Return everything journaled by a run, by the name of the fact."""
        return records.facts_of(self._latest(), group, run)

    def history(self, group: str) -> dict[str, dict[str, Any]]:
        """Return everything journaled about a group, by run and fact."""
        return records.history_of(self._latest(), group)

    def write_fact(
        self, group: str, run: str, fact: str, payload: Mapping[str, Any], *, by: Author | None = None
    ) -> None:
        """Journal a fact; it replaces an earlier one with the same name."""
        if by is None:
            self._write(group, records.fact_records(group, run, fact, payload))
            return
        where = f"the register of {self._cluster.name}"
        self._change(group, lambda held: permitted_fact(held, group, run, fact, payload, by, where=where))

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
        """Lend the group's writer to one thread at a time; after an error the next one is new."""
        kept = self._kept_writer(group)
        with kept.lock:
            if kept.writer is None:
                with self._cluster.writing.transactions(f"kafka-dr-register-{group}") as writer:
                    kept.writer = writer
            try:
                yield kept.writer
            except Refused:
                raise
            except BaseException:
                kept.writer = None
                raise

    def _kept_writer(self, group: str) -> _KeptWriter:
        with self._lock:
            return self._writers.setdefault(group, _KeptWriter())

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
