"""Turns one look at a flow, and at the groups that read its source, into numbers and verdicts. It asks no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil

from kafka_dr.lag.retention import Retention, headroom_seconds
from kafka_dr.lag.unread import Stretch, StretchContent, Unread, age_seconds, before
from kafka_dr.lag.verdict import LagVerdict, Sample, judge, worst
from kafka_dr.lag.window import Series, Window


@dataclass(frozen=True, slots=True)
class HeldRecords:
    """Acknowledged records after the last stable offset: an open transaction keeps them from being copied.

    :param seconds: for how long the oldest has waited, at most; ``None`` if unknown
    :param exact: whether all of them could be counted; otherwise there are at most so many
    """

    records: int = 0
    seconds: float | None = 0.0
    exact: bool = True


@dataclass(frozen=True, slots=True)
class PartitionSeen:
    """What was asked and read about a partition of the source. Offsets are next to read.

    :param topic_id: changes when the topic is deleted and created again
    :param start: the log start offset
    :param stable_end: the last stable offset
    :param end: the high watermark; open transactions are below it
    :param position: next to copy by the flow; ``None`` if it has copied nothing yet
    :param stretches: what was read, split at the positions of all readers
    :param latencies: seconds from the source to the target, of the records for which that is known
    :param held: what waits for the end of an open transaction
    """

    topic: str
    partition: int
    topic_id: str
    start: int
    stable_end: int
    end: int
    position: int | None
    retention: Retention = field(default_factory=Retention)
    stretches: Sequence[tuple[Stretch, StretchContent]] = ()
    latencies: Sequence[float] = ()
    held: HeldRecords = field(default_factory=HeldRecords)

    @property
    def place(self) -> tuple[str, int]:
        """Topic and number of the partition."""
        return self.topic, self.partition

    @property
    def name(self) -> str:
        """The partition as people write it."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A consumer group of the source.

    :param state: as its coordinator calls it
    :param positions: next to read, by topic and partition
    :param kind: for people
    """

    group: str
    state: str
    positions: Mapping[tuple[str, int], int]
    kind: str = "consumer group"

    @property
    def active(self) -> bool | None:
        """Whether the group has members; ``None`` if the coordinator did not answer."""
        return None if self.state == "UNKNOWN" else self.state not in ("EMPTY", "DEAD")


@dataclass(frozen=True, slots=True)
class ReaderLag:
    """The lag of one reader of a partition.

    :param deleted: offsets of records that the source deleted before they were read; control records count
    :param seconds: age of the oldest unread record; 0 if nothing is unread, ``None`` if it is not known
    :param past_end: the position is past the end of the log: the log was cut, or the topic created again
    """

    topic: str
    partition: int
    position: int
    unread: Unread
    seconds: float | None
    verdict: LagVerdict
    deleted: int = 0
    past_end: bool = False

    @property
    def name(self) -> str:
        """The partition as people write it."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class FlowLag:
    """What the flow has not copied of one partition.

    :param headroom_seconds: until the source may delete what is not copied; ``None`` if it will not
    :param headroom_limit: below which it is a finding
    :param held_back: offsets after the last stable offset, which an open transaction keeps from being read
    """

    lag: ReaderLag
    headroom_seconds: float | None
    headroom_limit: float
    latency: Latency | None
    held_back: int


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of a consumer group.

    :param ahead_seconds: age of the oldest record that the group has read and the flow has not copied; 0 if all that
        it has read is copied, ``None`` if the age is not known in one of its partitions
    """

    group: str
    state: str
    partitions: tuple[ReaderLag, ...]
    ahead_seconds: float | None
    kind: str = "consumer group"

    @property
    def verdict(self) -> LagVerdict:
        """The worst of its partitions."""
        return worst(each.verdict for each in self.partitions)


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything that one look says, and what is kept for the next one."""

    flow: tuple[FlowLag, ...]
    groups: tuple[GroupLag, ...]
    latency: Latency | None
    window: Window

    @property
    def verdict(self) -> LagVerdict:
        """The worst of the flow's partitions."""
        return worst(each.lag.verdict for each in self.flow)


@dataclass(frozen=True, slots=True)
class LagLook:
    """The circumstances of one look: its time, the looks before it, and the limits.

    :param at: when the ends were read, aware
    :param life: identifies the flow: another seed is another life
    :param active: whether the flow runs; ``None`` if that is not known
    :param allowed_seconds: how old an unread record may be
    :param headroom_seconds: how long before the source deletes records it is a finding
    """

    at: datetime
    window: Window
    life: str
    active: bool | None
    allowed_seconds: float
    headroom_seconds: float


def assess(partitions: Sequence[PartitionSeen], groups: Sequence[GroupSeen], look: LagLook) -> Assessment:
    """Return one look as numbers and verdicts."""
    readers = _Readers(look)
    flow = tuple(_flow_lag(seen, readers) for seen in partitions)
    by_name = {seen.place: seen for seen in partitions}
    found = tuple(_group_lag(group, by_name, readers) for group in groups)
    return Assessment(
        flow,
        tuple(group for group in found if group.partitions),
        Latency.of(seconds for seen in partitions for seconds in seen.latencies),
        look.window.add(readers.samples, readers.lives),
    )


class _Readers:
    """Judges one reader after the other, and collects what is kept of each."""

    def __init__(self, look: LagLook) -> None:
        self.look = look
        self.samples: dict[Series, Sample] = {}
        self.lives: dict[Series, str] = {}

    def judge(self, seen: PartitionSeen, reader: str, *, position: int, life: str, active: bool | None) -> ReaderLag:
        series = Series(reader, seen.topic, seen.partition)
        earlier = self.look.window.of(series) if self.look.window.lives.get(series) == life else ()
        unread = before(max(position, seen.start), seen.stretches)
        seconds: float | None = 0.0
        if unread.records:
            seconds = age_seconds(unread.first_timestamp_ms, position=position, now=self.look.at, earlier=earlier)
        sample = Sample(self.look.at, position, seen.stable_end, unread.records, seconds, active)
        self.samples[series], self.lives[series] = sample, life
        looks = Window({series: earlier}, {series: life}).add({series: sample}, {series: life}).of(series)
        return ReaderLag(
            seen.topic,
            seen.partition,
            position,
            unread,
            seconds,
            judge(looks, allowed_seconds=self.look.allowed_seconds),
            deleted=max(seen.start - position, 0),
            past_end=position > seen.end,
        )

    def looks(self, seen: PartitionSeen) -> tuple[Sample, ...]:
        series = Series("", seen.topic, seen.partition)
        return (*self.look.window.of(series), self.samples[series])


def _flow_lag(seen: PartitionSeen, readers: _Readers) -> FlowLag:
    look = readers.look
    # Without a position the flow begins at the log start: no record was deleted that it should have copied.
    position = seen.start if seen.position is None else seen.position
    lag = readers.judge(seen, "", position=position, life=f"{look.life}/{seen.topic_id}", active=look.active)
    kept = seen.retention.seconds
    return FlowLag(
        _with_held(lag, seen.held),
        headroom_seconds(seen.retention, lag.unread, now=look.at, samples=readers.looks(seen)),
        # If the retention is short, half of it is the limit.
        look.headroom_seconds if kept is None else min(look.headroom_seconds, kept / 2),
        Latency.of(seen.latencies),
        held_back=seen.end - seen.stable_end,
    )


def _with_held(lag: ReaderLag, held: HeldRecords) -> ReaderLag:
    """Add what the flow cannot copy before a transaction ends. The trend does not count it: the flow is not slow."""
    if not held.records:
        return lag
    known = None not in (lag.seconds, held.seconds)
    return replace(
        lag,
        unread=replace(lag.unread, records=lag.unread.records + held.records, exact=lag.unread.exact and held.exact),
        seconds=max(lag.seconds or 0.0, held.seconds or 0.0) if known else None,
    )


def _group_lag(group: GroupSeen, partitions: Mapping[tuple[str, int], PartitionSeen], readers: _Readers) -> GroupLag:
    lags: list[ReaderLag] = []
    ahead: list[float | None] = []
    for (topic, partition), position in sorted(group.positions.items()):
        if (seen := partitions.get((topic, partition))) is None:
            continue
        lags.append(readers.judge(seen, group.group, position=position, life=seen.topic_id, active=group.active))
        copied = max(seen.start if seen.position is None else seen.position, seen.start)
        missing = before(copied, seen.stretches, until=position)
        if missing.records:
            ahead.append(age_seconds(missing.first_timestamp_ms, position=copied, now=readers.look.at))
    known = [seconds for seconds in ahead if seconds is not None]
    oldest = max(known, default=0.0) if len(known) == len(ahead) else None
    return GroupLag(group.group, group.state, tuple(lags), oldest, group.kind)


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles, in seconds.

    :param samples: how many records were measured
    """

    samples: int
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Latency | None:
        """Return the percentiles of measurements (each is one of them, by nearest rank); ``None`` if there are none.

        A record that seems to arrive before it was written says that two clocks differ; it took no time, at least.
        """
        ordered = sorted(max(each, 0.0) for each in seconds)
        if not ordered:
            return None
        p50, p95, p99 = (ordered[ceil(share * len(ordered)) - 1] for share in (0.50, 0.95, 0.99))
        return cls(len(ordered), *(round(each, 3) for each in (p50, p95, p99, ordered[-1])))
