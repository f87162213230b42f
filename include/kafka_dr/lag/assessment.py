"""One look at a flow and at the groups that read its source, put into numbers. What was asked and read comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kafka_dr.lag.latency import Latency
from kafka_dr.lag.retention import Retention, headroom_seconds
from kafka_dr.lag.unread import Content, Stretch, Unread, age_seconds, before
from kafka_dr.lag.verdict import LagVerdict, Sample, judge, worst
from kafka_dr.lag.window import Series, Window


@dataclass(frozen=True, slots=True)
class PartitionSeen:
    """What was asked and read about a partition of the source. Offsets are next to read.

    :param topic_id: changes when the topic is deleted and made again
    :param start: the first offset that is still there
    :param stable_end: up to where committed records can be read
    :param end: the high watermark, also with what is not committed
    :param position: the flow's; ``None`` where it has copied nothing yet
    :param stretches: what was read, cut at the positions of all readers
    :param latencies: seconds from the source to the target, of the records for which that is known
    """

    topic: str
    partition: int
    topic_id: str
    start: int
    stable_end: int
    end: int
    position: int | None
    retention: Retention = field(default_factory=Retention)
    stretches: Sequence[tuple[Stretch, Content]] = ()
    latencies: Sequence[float] = ()

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
    """

    group: str
    state: str
    positions: Mapping[tuple[str, int], int]

    @property
    def active(self) -> bool | None:
        """Whether anybody is there to read; ``None`` where the coordinator did not say."""
        return None if self.state == "UNKNOWN" else self.state not in ("EMPTY", "DEAD")


@dataclass(frozen=True, slots=True)
class ReaderLag:
    """How far a reader of one partition is behind.

    :param deleted: records that the source deleted before he read them, as offsets; control records count
    :param seconds: age of the oldest unread record; 0 where nothing is unread, ``None`` where that could not be told
    :param past_end: he is past the end of the log: it was cut off or made again
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

    :param headroom_seconds: until the source may delete what is not copied; ``None`` where it will not
    :param headroom_limit: below which somebody must know
    :param held_back: offsets that an open transaction keeps from being read
    """

    lag: ReaderLag
    headroom_seconds: float | None
    headroom_limit: float
    latency: Latency | None
    held_back: int


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far a consumer group is behind.

    :param ahead_seconds: how old the oldest record is that the group has read and the flow has not copied; 0 where
        every position of the group has its copy
    """

    group: str
    state: str
    partitions: tuple[ReaderLag, ...]
    ahead_seconds: float

    @property
    def verdict(self) -> LagVerdict:
        """The worst of its partitions."""
        return worst(each.verdict for each in self.partitions)


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything that one look says, and what the next one has to remember."""

    flow: tuple[FlowLag, ...]
    groups: tuple[GroupLag, ...]
    latency: Latency | None
    window: Window

    @property
    def verdict(self) -> LagVerdict:
        """The worst of the flow's partitions."""
        return worst(each.lag.verdict for each in self.flow)


@dataclass(frozen=True, slots=True)
class Look:
    """When, with which history, and by which measure.

    :param at: when the ends were read, aware
    :param life: of the flow: another seed is another life
    :param active: whether the flow's connector runs; ``None`` where that is not known
    :param allowed_seconds: how old an unread record may be without anything being wrong
    :param headroom_seconds: how long before something is deleted somebody must know
    """

    at: datetime
    window: Window
    life: str
    active: bool | None
    allowed_seconds: float
    headroom_seconds: float


def assess(partitions: Sequence[PartitionSeen], groups: Sequence[GroupSeen], look: Look) -> Assessment:
    """Put one look into numbers and verdicts."""
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
    """Judges reader after reader, and collects what has to be remembered of each."""

    def __init__(self, look: Look) -> None:
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
    # Without a position the flow begins where the log does: nothing was deleted before its eyes.
    position = seen.start if seen.position is None else seen.position
    lag = readers.judge(seen, "", position=position, life=f"{look.life}/{seen.topic_id}", active=look.active)
    kept = seen.retention.seconds
    return FlowLag(
        lag,
        headroom_seconds(seen.retention, lag.unread, now=look.at, samples=readers.looks(seen)),
        # Where nothing is kept for long, half of that time has to do.
        look.headroom_seconds if kept is None else min(look.headroom_seconds, kept / 2),
        Latency.of(seen.latencies),
        held_back=seen.end - seen.stable_end,
    )


def _group_lag(group: GroupSeen, partitions: Mapping[tuple[str, int], PartitionSeen], readers: _Readers) -> GroupLag:
    lags, ahead = [], [0.0]
    for (topic, partition), position in sorted(group.positions.items()):
        if (seen := partitions.get((topic, partition))) is None:
            continue
        lags.append(readers.judge(seen, group.group, position=position, life=seen.topic_id, active=group.active))
        copied = max(seen.start if seen.position is None else seen.position, seen.start)
        missing = before(copied, seen.stretches, until=position)
        ahead.append(age_seconds(missing.first_timestamp_ms, position=copied, now=readers.look.at) or 0.0)
    return GroupLag(group.group, group.state, tuple(lags), max(ahead))
