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
from kafka_dr.clusters.errors import NotFound, StaleMetadata, WriterFenced
from kafka_dr.clusters.shared_read import SharedRead
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import OutcomeUnknown, Refused, TryAgain, Unanswered
from kafka_dr.register import records
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.holding import Author
from kafka_dr.register.port import RegisterConflict, RegisterUnusable, bring_up, permitted_fact
from kafka_dr.register.record_shapes import ForeignRecord, refusal, wrong_shape
from kafka_dr.register.records import LARGEST_PART
from kafka_dr.register.state import RegisterState
from kafka_dr.register.topic_settings import settings, unlike
from kafka_dr.topology.names import DRILL_PREFIX
from kafka_dr.waiting import wait_until

#: How long a change tries to find out its outcome where nobody says otherwise, in seconds.
DEADLINE_SECONDS = 20.0
_LIMIT = "max.message.bytes"
_PARTITION = TopicPartition(records.REGISTER_TOPIC, 0)
#: How long brokers may take to know of a topic that was created, in seconds.
_KNOWN_SECONDS = 5.0
#: How long no record may arrive. A process that is killed in the middle of a transaction keeps readers waiting for up
#: to 20 s: the transaction's timeout, and then the broker's interval of looking for such transactions.
_STALL_SECONDS = 25.0


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

    def __init__(self, cluster: KafkaCluster, clock: Clock, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._cluster = cluster
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._lock = Lock()
        self._writers: dict[str, _KeptWriter] = {}
        self._read_to: int | None = None
        self._newest: dict[bytes, bytes] = {}
        self._foreign: dict[bytes | None, ForeignRecord] = {}
        #: Whether records that are not of this project's shape are ignored, instead of refused. Only for what closes
        #: clusters, and for a person who said so.
        self.ignores_foreign = False
        self._shared: SharedRead[dict[bytes, bytes]] | None = None
        #: Whether it was seen to have a leader. Asking for an end waits seconds for one.
        self._led = False

    def share_reads(self) -> None:
        """Let callers that ask at the same time share a read, which begins after each of them has asked.

        For many groups in one process: one after the other they would wait for each other's answers.
        """
        self._shared = SharedRead(self._read_up_to_now)

    def create(self, *, replication_factor: int) -> bool:
        """Create the topic unless it exists, and return whether this call created it."""
        created = self._cluster.topics.create(
            records.REGISTER_TOPIC,
            partitions=1,
            replication_factor=replication_factor,
            config=settings(replicas=replication_factor),
        )
        # The broker that is asked next may not know of the topic yet.
        wait_until(
            lambda: records.REGISTER_TOPIC in self._cluster.topics.names(),
            bool,
            clock=self._clock,
            seconds=_KNOWN_SECONDS,
            pause_seconds=0.1,
        )
        return created

    def correct_topic(self) -> dict[str, str]:
        """Set what an existing topic does not have as it should, and return what was set."""
        layout = self._cluster.configs.overview().topics[records.REGISTER_TOPIC]
        found = self._cluster.topics.configs([records.REGISTER_TOPIC])[records.REGISTER_TOPIC]
        wanted = {key: value for key, (_, value) in unlike(found, replicas=layout.replication_factor).items()}
        if wanted and (errors := self._cluster.configs.set({records.REGISTER_TOPIC: wanted})):
            raise errors[records.REGISTER_TOPIC]
        return wanted

    def read(self, group: str) -> RegisterState | None:
        """Return the committed record of a group; ``None`` if there is none."""
        value = self._latest(group).get(records.group_key(group))
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

    def change_fact(
        self, group: str, run: str, fact: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> None:
        """Journal what a fact becomes, by compare-and-set."""

        def changes(held: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
            before = records.facts_of(held, group, run).get(fact, {})
            return records.fact_records(group, run, fact, change(before))

        self._change(group, changes)

    def drill_groups(self) -> frozenset[str]:
        """Return the names of the groups of drills that the register still knows something about."""
        found = (records.group_of(key) for key in self._up_to_now())
        return frozenset(name for name in found if name.startswith(DRILL_PREFIX))

    def forget(self, group: str) -> int:
        """Remove everything that the register holds about the group of a drill, and return how many records that were.

        :raises Refused: it is the group of no drill
        """
        if not group.startswith(DRILL_PREFIX):
            raise Refused(f"{group} is the group of no drill, so its records are never removed")

        def changes(held: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes | None]]:
            return [(key, None) for key in held if records.group_of(key) == group]

        held = self._change(group, changes)
        return sum(records.group_of(key) == group for key in held)

    def _change(
        self, group: str, changes: Callable[[Mapping[bytes, bytes]], Collection[tuple[bytes, bytes | None]]]
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
                    held = self._latest(group)
                    if self._read_to is None:
                        raise NotFound(f"{self._cluster.name} has no topic {records.REGISTER_TOPIC}: see dr_adopt")
                    if wanted := changes(held):
                        writer.write([NewRecord(_PARTITION, key, value) for key, value in wanted])
                return held
            except OutcomeUnknown as error:
                unanswered = error
                raise
            except (WriterFenced, Unanswered) as error:
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
        return records.facts_of(self._latest(group), group, run)

    def history(self, group: str) -> dict[str, Mapping[str, Any]]:
        """Return everything journaled about a group, by run and fact."""
        return records.history_of(self._latest(group), group)

    def write_fact(
        self, group: str, run: str, fact: str, payload: Mapping[str, Any], *, by: Author | None = None
    ) -> None:
        """Journal a fact; it replaces an earlier one with the same name."""
        if by is None:
            self._write(group, records.fact_records(group, run, fact, payload))
            return
        where = f"the register of {self._cluster.name}"
        self._change(group, lambda held: permitted_fact(held, group, run, fact, payload, by, where=where))

    def added_acls(self, group: str, cluster: str) -> AddedAcls:
        """Return the ACLs that this project added to a cluster for a group."""
        return records.added_acls_of(self._latest(group), group, cluster)

    def change_added_acls(self, group: str, cluster: str, change: Callable[[AddedAcls], AddedAcls]) -> None:
        """Change the record of the ACLs that this project added to a cluster, by compare-and-set."""

        def changes(held: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
            found = records.added_acls_of(held, group, cluster)
            new = change(found)
            return [] if new == found else records.fence_records(group, cluster, new)

        self._change(group, changes)

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

    def foreign(self, group: str) -> tuple[ForeignRecord, ...]:
        """Return the records that are not of this project's shape and concern a group, as the last read found them."""
        return tuple(record for record in self._foreign.values() if record.concerns(group))

    def _latest(self, group: str) -> dict[bytes, bytes]:
        """Return the newest committed value by key, up to the high watermark of this moment.

        :param group: the group that is asked about
        :raises NeedsPerson: a record that concerns the group is not of this project's shape
        """
        newest = self._up_to_now()
        if not self.ignores_foreign and (found := self.foreign(group)):
            raise refusal(found)
        return newest

    def _up_to_now(self) -> dict[bytes, bytes]:
        return self._read_up_to_now() if self._shared is None else self._shared()

    def problem(self) -> str:
        """Return why the register can be neither read nor written now, or why it takes no records; empty if it works.

        Nothing is written to find that out.

        :raises KafkaDrError: the cluster does not answer, or refuses the question
        """
        name = self._cluster.name
        try:
            self._require_leader()
        except NotFound:
            return f"{name} has no topic {records.REGISTER_TOPIC}: run dr_adopt, which creates it"
        except RegisterUnusable as error:
            return str(error)
        limit = self._cluster.topics.settings([records.REGISTER_TOPIC], [_LIMIT])[records.REGISTER_TOPIC][_LIMIT]
        if int(limit) < LARGEST_PART:
            return (
                f"the register of {name} takes only records of up to {limit} bytes: run dr_adopt again, which sets "
                f"{_LIMIT} of {records.REGISTER_TOPIC}"
            )
        (answer,) = self._cluster.write_permission.ask([_PARTITION])
        if answer.verdict == "allowed":
            return ""
        return (
            f"the register of {name} takes no records ({answer.detail}): bring the brokers up that hold replicas of "
            f"{records.REGISTER_TOPIC}, and compare its min.insync.replicas with what dr_adopt sets"
        )

    def _require_leader(self) -> None:
        """Raise an error if the cluster says that nobody leads the register.

        :raises RegisterUnusable: it has no leader
        :raises NotFound: there is no such topic
        """
        found = self._cluster.topics.led(lambda name: name == records.REGISTER_TOPIC)
        self._led = found.get(_PARTITION, -1) >= 0
        if not found:
            raise NotFound(f"{self._cluster.name} has no topic {records.REGISTER_TOPIC}")
        if not self._led:
            raise RegisterUnusable(
                f"the register of {self._cluster.name} has no leader: bring the brokers up that hold replicas of "
                f"{records.REGISTER_TOPIC}"
            )

    def _end(self) -> int:
        """Return the high watermark of this moment."""
        if not self._led:
            self._require_leader()
        try:
            return self._cluster.topics.high_watermarks([_PARTITION])[_PARTITION]
        except TryAgain as error:
            self._require_leader()
            if isinstance(error, StaleMetadata):
                # Brokers answered. A new leader may lack replicas, and does not know what is committed before it has.
                raise RegisterUnusable(
                    f"the leader of the register of {self._cluster.name} cannot say what is committed: bring the "
                    f"brokers up that hold replicas of {records.REGISTER_TOPIC}"
                ) from error
            raise

    def _read_up_to_now(self) -> dict[bytes, bytes]:
        with self._lock:
            try:
                end = self._end()
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
        newest, foreign = dict(self._newest), dict(self._foreign)
        for record in self._cluster.log.read({_PARTITION: OffsetRange(start, end)}, stall_seconds=_STALL_SECONDS):
            if problem := wrong_shape(record.key, record.value):
                where = f"offset {record.offset} of {_PARTITION} on {self._cluster.name}"
                foreign[record.key] = ForeignRecord(where, record.key, problem)
                continue
            foreign.pop(record.key, None)
            if record.key is None:
                continue
            if record.value is None:
                newest.pop(record.key, None)
            else:
                newest[record.key] = record.value
        self._newest, self._foreign, self._read_to = newest, foreign, end

    def _forget(self) -> None:
        self._read_to, self._newest, self._foreign = None, {}, {}
