"""Records at the end of a log that readers of committed records do not get yet, because a transaction is open.

The last stable offset waits for the oldest open transaction. Acknowledged records of every other producer that come
after its first record wait with it: no flow copies them, and a disaster takes them. The headers of batches name the
producer of each record, and control batches say which transactions have ended. So the records that are certain and
those that may still be aborted are counted apart. A cleaner stops at the last stable offset, so each batch has as many
records as it has offsets, and nothing is decompressed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kafka.protocol.consumer import FetchRequest
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatch

from kafka_dr.clusters.many_partitions import ManyPartitions, once_led
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.clusters.topics import Topics
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.parallel import ask_all
from kafka_dr.positions import OffsetRange, TopicPartition

#: Bytes of one answer, and of all answers of a leader to one look. What is beyond them is counted in offsets alone.
_ANSWER_BYTES, _MOST_BYTES = 4 * 1024 * 1024, 32 * 1024 * 1024
#: From version 13 on the request names topics by their ids; from 7 on it may open a session, which this one does not.
_BY_NAME, _NO_SESSION = 12, -1
#: What a person does about a transaction that holds back for too long.
END_IT = "let the application end the transaction, or abort it with kafka-transactions.sh"
#: How many holders a sentence names.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """What the header of a batch says.

    :param offsets: of its records
    :param producer: the id of its producer, if it is part of a transaction; ``None`` if it is part of none
    :param ended: how the transaction ended, if the batch is the marker of its end
    :param first_ms: the timestamp of its first record, in milliseconds since the epoch
    """

    offsets: OffsetRange
    producer: int | None = None
    ended: Literal["committed", "aborted"] | None = None
    first_ms: int = 0


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What is held back in one partition.

    :param offsets: from the last stable offset to the high watermark
    :param acknowledged: ranges of records that nothing takes back: of no transaction, or of a committed one
    :param undecided: by the producer id of an open transaction, ranges of its records: they may still be aborted
    :param not_read: how many offsets before the end nobody looked at; each may be a record of either kind
    :param oldest_ms: the timestamp of the oldest acknowledged one, in milliseconds since the epoch
    :param began_ms: by producer id, the timestamp of its first record
    """

    offsets: OffsetRange
    acknowledged: tuple[OffsetRange, ...] = ()
    undecided: Mapping[int, tuple[OffsetRange, ...]] = field(default_factory=dict)
    not_read: int = 0
    oldest_ms: int | None = None
    began_ms: Mapping[int, int] = field(default_factory=dict)

    @property
    def open_ranges(self) -> tuple[OffsetRange, ...]:
        """The ranges of all records that may still be aborted, in order."""
        return tuple(sorted((each for some in self.undecided.values() for each in some), key=lambda r: r.start))


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds records back: a producer with an open transaction.

    :param transactional_id: ``None`` if no coordinator names it to this principal
    :param since: when the transaction began, aware: by its coordinator, or by its first record; ``None`` if unknown
    """

    producer: int
    transactional_id: str | None
    since: datetime | None

    def __str__(self) -> str:
        who = self.transactional_id or f"the producer with the id {self.producer}"
        return f"{who} since {self.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if self.since else who


@dataclass(frozen=True, slots=True)
class HeldBackLook:
    """What one look found.

    :param stable: the last stable offset of every partition that was asked for
    :param partitions: those in which something is held back
    :param holders: the oldest first
    """

    stable: Mapping[TopicPartition, int] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, HeldBack] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Where the log of every partition ends, whatever is held back."""
        return {**self.stable, **{p: held.offsets.end for p, held in self.partitions.items()}}

    @property
    def acknowledged(self) -> int:
        """How many records are certain."""
        return sum(len(each) for held in self.partitions.values() for each in held.acknowledged)

    @property
    def undecided(self) -> int:
        """How many records may still be aborted."""
        return sum(len(each) for held in self.partitions.values() for each in held.open_ranges)

    @property
    def offsets(self) -> int:
        """How many offsets are held back, markers of transactions included."""
        return sum(len(held.offsets) for held in self.partitions.values())

    @property
    def not_read(self) -> int:
        """How many offsets nobody looked at."""
        return sum(held.not_read for held in self.partitions.values())

    @property
    def oldest_ms(self) -> int | None:
        """The timestamp of the oldest certain record, in milliseconds since the epoch."""
        return min((held.oldest_ms for held in self.partitions.values() if held.oldest_ms is not None), default=None)

    def with_other(self, other: HeldBackLook) -> HeldBackLook:
        """Return both looks as one, of different partitions."""
        holders = {each.producer: each for each in (*self.holders, *other.holders)}
        return HeldBackLook(
            {**self.stable, **other.stable},
            {**self.partitions, **other.partitions},
            tuple(sorted(holders.values(), key=_oldest_first)),
        )

    def of(self, partition: TopicPartition) -> HeldBackLook:
        """Return what the look found in one partition, with all holders."""
        return HeldBackLook({}, {p: each for p, each in self.partitions.items() if p == partition}, self.holders)

    def age_seconds(self, now: datetime) -> float | None:
        """Return for how long an acknowledged record has been held back, at most; ``None`` if that is not known.

        A timestamp may be older than its record, and nothing is held back for longer than the oldest transaction.
        """
        written = self.oldest_ms
        known = [] if not written or written < 0 else [datetime.fromtimestamp(written / 1000, UTC)]
        known += [each.since for each in self.holders[:1] if each.since is not None]
        return max(0.0, (now - max(known)).total_seconds()) if known else None

    @property
    def held_by(self) -> tuple[str, ...]:
        """Who holds records back, in words."""
        return tuple(map(str, self.holders))

    @property
    def sentence(self) -> str:
        """What is held back, and who holds it back; empty if nothing is."""
        return held_back_in_words(self.acknowledged, self.undecided, self.not_read, self.held_by)


def held_back_in_words(acknowledged: int, undecided: int, not_read: int, held_by: Sequence[str]) -> str:
    """Say what is held back, and who holds it back; empty if nothing is.

    :param acknowledged: records that are certain
    :param undecided: records that may still be aborted
    :param not_read: offsets that nobody looked at
    """
    counts = (
        counted(acknowledged, "acknowledged record") if acknowledged else "",
        counted(undecided, "record that may still be aborted", "records that may still be aborted")
        if undecided
        else "",
        f"at most {not_read:,} more that nobody could count" if not_read else "",
    )
    if not (said := " and ".join(filter(None, counts))):
        return ""
    shown = ", ".join(held_by[:_SHOWN]) + (f" and {len(held_by) - _SHOWN} more" if len(held_by) > _SHOWN else "")
    by = f"the open transaction{'s' if len(held_by) != 1 else ''} of {shown}" if held_by else "an open transaction"
    return f"{said} {'is' if acknowledged + undecided + not_read == 1 else 'are'} held back by {by}"


class HeldBackRecords:
    """Looks at what open transactions hold back.

    :param session: of a principal that may read the topics
    :param topics: looks up the ends of logs
    """

    def __init__(self, session: ClusterSession, topics: Topics) -> None:
        self._session, self._topics = session, topics

    def look(self, partitions: Iterable[TopicPartition], *, named: bool = True) -> HeldBackLook:
        """Look at the ends of these partitions' logs. What cannot be read is counted in offsets alone.

        :param named: ask coordinators for transactional ids, if something is held back; brokers log each one that the
            principal may not see
        """
        wanted = set(partitions)
        # In this order: what was below the high watermark and is above a later last stable offset is held back.
        ends = self._topics.high_watermarks(wanted)
        stable = self._topics.last_stable_offsets(wanted)
        ranges = {p: OffsetRange(stable[p], end) for p, end in ends.items() if stable[p] < end}
        if not ranges:
            return HeldBackLook(stable)
        try:
            headers = once_led(lambda: self._headers(ranges))
        except KafkaDrError:
            headers = {}
        found = {p: classified(offsets, headers.get(p, ())) for p, offsets in ranges.items()}
        return HeldBackLook(stable, found, self._holders(found, named=named))

    def _headers(self, ranges: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, list[BatchHeader]]:
        led: dict[int, list[TopicPartition]] = {}
        leaders = ManyPartitions(self._session).leaders_of(ranges, "look for open transactions")
        for partition, leader in leaders.items():
            led.setdefault(leader.broker, []).append(partition)
        answers = ask_all(lambda broker: self._of_leader(broker, {p: ranges[p] for p in led[broker]}), led)
        return {p: headers for answer in answers.values() for p, headers in answer.items()}

    def _of_leader(
        self, broker: int, ranges: Mapping[TopicPartition, OffsetRange]
    ) -> dict[TopicPartition, list[BatchHeader]]:
        found: dict[TopicPartition, list[BatchHeader]] = {p: [] for p in ranges}
        at, spent = {p: offsets.start for p, offsets in ranges.items()}, 0
        while at and spent < _MOST_BYTES:
            before, size = dict(at), 0
            for p, records in self._fetched(broker, at):
                size += len(records)
                for header in headers_of(records):
                    if at[p] < header.offsets.end:
                        found[p].append(header)
                        at[p] = header.offsets.end
            if at == before:
                break
            spent += size
            # What got nothing of this answer comes first in the next one.
            left = sorted((p for p in at if at[p] < ranges[p].end), key=lambda p: at[p] - ranges[p].start)
            at = {p: at[p] for p in left}
        return found

    def _fetched(self, broker: int, at: Mapping[TopicPartition, int]) -> Iterator[tuple[TopicPartition, bytes]]:
        doing = "look for open transactions"
        of_topic = FetchRequest.FetchTopic
        rows = [
            of_topic(
                topic=p.topic,
                partitions=[
                    of_topic.FetchPartition(
                        partition=p.partition,
                        current_leader_epoch=-1,
                        fetch_offset=offset,
                        log_start_offset=-1,
                        partition_max_bytes=_ANSWER_BYTES,
                    )
                ],
            )
            for p, offset in at.items()
        ]
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_ANSWER_BYTES,
            isolation_level=0,
            session_id=0,
            session_epoch=_NO_SESSION,
            topics=rows,
            forgotten_topics_data=[],
            rack_id="",
            min_version=4,
            max_version=_BY_NAME,
        )
        for topic in self._session.request(request, doing, broker=broker).responses:
            for row in topic.partitions:
                if error := self._session.error(row.error_code, None, doing):
                    raise error
                yield TopicPartition(topic.topic, row.partition_index), row.records or b""

    def _holders(self, found: Mapping[TopicPartition, HeldBack], *, named: bool) -> tuple[Holder, ...]:
        began: dict[int, int] = {}
        for producer, at in (row for held in found.values() for row in held.began_ms.items()):
            began[producer] = min(at, began.get(producer, at))
        if not began:
            return ()
        try:
            known_ids = Transactions(self._session).open() if named else ()
            opened = {each.producer_id: each for each in known_ids}
        except KafkaDrError:
            opened = {}
        holders = []
        for producer, at in began.items():
            known = opened.get(producer)
            since = known.began_at if known else None
            first = datetime.fromtimestamp(at / 1000, UTC) if at > 0 else None
            holders.append(Holder(producer, known.transactional_id if known else None, since or first))
        return tuple(sorted(holders, key=_oldest_first))


def classified(offsets: OffsetRange, headers: Iterable[BatchHeader]) -> HeldBack:
    """Decide of each record whether it can still be aborted. Pure.

    :param headers: of the batches from the last stable offset on, in order, as far as they were read
    """
    certain: list[BatchHeader] = []
    pending: dict[int, list[BatchHeader]] = {}
    until = offsets.start
    for header in headers:
        header = _within(header, offsets)
        until = max(until, header.offsets.end)
        if header.producer is None:
            certain.append(header)
        elif header.ended is None:
            pending.setdefault(header.producer, []).append(header)
        else:
            ended = pending.pop(header.producer, [])
            certain += ended if header.ended == "committed" else ()
    return HeldBack(
        offsets,
        tuple(_ranges(certain)),
        {producer: tuple(_ranges(some)) for producer, some in pending.items()},
        offsets.end - until,
        min((each.first_ms for each in certain), default=None),
        {producer: some[0].first_ms for producer, some in pending.items()},
    )


def headers_of(records: bytes) -> Iterator[BatchHeader]:
    """Read the headers of whole batches; older formats know no transactions, and end the reading."""
    for batch in MemoryRecords(records):
        if not isinstance(batch, DefaultRecordBatch):
            return
        yield BatchHeader(
            OffsetRange(batch.base_offset, batch.next_offset),
            batch.producer_id if batch.is_transactional else None,
            _ended(batch) if batch.is_control_batch and batch.is_transactional else None,
            batch.first_timestamp,
        )


def _oldest_first(holder: Holder) -> tuple[datetime, int]:
    return holder.since or datetime.max.replace(tzinfo=UTC), holder.producer


def _ended(batch: Any) -> Literal["committed", "aborted"]:
    return "committed" if next(batch).commit else "aborted"


def _within(header: BatchHeader, offsets: OffsetRange) -> BatchHeader:
    start = min(max(header.offsets.start, offsets.start), offsets.end)
    end = max(start, min(header.offsets.end, offsets.end))
    return BatchHeader(OffsetRange(start, end), header.producer, header.ended, header.first_ms)


def _ranges(headers: Collection[BatchHeader]) -> Iterator[OffsetRange]:
    """Yield the offsets of batches, with those joined that touch."""
    start = end = -1
    for each in sorted((h.offsets for h in headers if len(h.offsets)), key=lambda r: r.start):
        if each.start != end:
            if end > start:
                yield OffsetRange(start, end)
            start = each.start
        end = each.end
    if end > start:
        yield OffsetRange(start, end)
