"""What a drill's own application saw, and what follows from it: pure rules, independent of what the steps measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A record that a cluster acknowledged.

    :param number: the record's own, which rises in each partition
    :param at: when the answer arrived, aware
    """

    number: int
    partition: TopicPartition
    cluster: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Read:
    """A record that the drill's consumer group read.

    :param at: when, aware
    """

    number: int
    cluster: str
    at: datetime


@dataclass(slots=True)
class ApplicationLog:
    """Everything that happened to the drill's application, in order."""

    acknowledged: list[Acknowledged] = field(default_factory=list)
    read: list[Read] = field(default_factory=list)
    #: Numbers whose write got no answer: a cluster may hold them or not.
    unanswered: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class LegTruth:
    """What one failover or failback did to the application; times as in :class:`~kafka_dr.drill.result.DrillLeg`."""

    rto_seconds: float | None
    write_outage_seconds: float | None
    rpo_seconds: float | None
    acknowledged: int
    lost: int
    reordered: int


#: The numbers of the records that a cluster holds, by partition, in the order of its log.
Held = Mapping[TopicPartition, Sequence[int]]


def of_leg(
    log: ApplicationLog,
    *,
    source: str,
    target: str,
    period: tuple[datetime, datetime | None],
    decided_at: datetime,
    held: Held,
    since_fault: bool = False,
) -> LegTruth:
    """Return what a failover did.

    :param period: from when to when records belong to this failover: until the next one is decided, or all of them
    :param decided_at: when it was approved
    :param held: what the target held when everything was over
    :param since_fault: whether recovery counts from the last record that the source acknowledged, not from the approval
    """
    begin, end = period
    within = [each for each in log.acknowledged if each.at >= begin and (end is None or each.at < end)]
    before = [each for each in within if each.cluster == source]
    there = [each for each in within if each.cluster == target and each.at > decided_at]
    holds = {number for numbers in held.values() for number in numbers}
    lost = [each for each in before if each.number not in holds]
    return LegTruth(
        rto_seconds=_recovered(log, there, target, _last(before) if since_fault else decided_at),
        write_outage_seconds=_between(_last(before), min((each.at for each in there), default=None)),
        rpo_seconds=_age(lost, before),
        acknowledged=len(before),
        lost=len(lost),
        reordered=reordered(held, unanswered=log.unanswered),
    )


def of_copy(log: ApplicationLog, *, source: str, held: Held) -> LegTruth:
    """Return what a failback did: it moves no application, so it is the copy alone that is measured.

    :param source: the active cluster
    :param held: what its copy holds
    """
    written = [each for each in log.acknowledged if each.cluster == source]
    holds = {number for numbers in held.values() for number in numbers}
    return LegTruth(
        rto_seconds=None,
        write_outage_seconds=None,
        rpo_seconds=None,
        acknowledged=len(written),
        lost=sum(each.number not in holds for each in written),
        reordered=reordered(held, unanswered=log.unanswered),
    )


def _recovered(log: ApplicationLog, there: Sequence[Acknowledged], target: str, since: datetime | None) -> float | None:
    """Return the seconds until a record had been written to the target and read there; ``None`` if none was."""
    written = {each.number for each in there}
    read = [each.at for each in log.read if each.cluster == target and each.number in written]
    return round((min(read) - since).total_seconds(), 3) if read and since is not None else None


def _age(lost: Sequence[Acknowledged], before: Sequence[Acknowledged]) -> float | None:
    """Return how old the oldest lost record was when the newest one was acknowledged; unknown where none was."""
    if not before:
        return None
    if not lost:
        return 0.0
    return round((max(each.at for each in before) - min(each.at for each in lost)).total_seconds(), 3)


def reordered(held: Held, *, unanswered: Collection[int] = ()) -> int:
    """Count records that come after a later one of their partition.

    A record whose write got no answer may be there twice, as its producer may have sent it again.
    """
    count = 0
    for numbers in held.values():
        highest = -1
        for number in numbers:
            if number in unanswered:
                continue
            count += number <= highest
            highest = max(highest, number)
    return count


def unread(log: ApplicationLog, held: Held) -> int:
    """Count acknowledged records that a cluster holds and that the readers never read, on any cluster."""
    holds = {number for numbers in held.values() for number in numbers}
    read = {each.number for each in log.read}
    return sum(each.number in holds and each.number not in read for each in log.acknowledged)


def read_again(log: ApplicationLog) -> int:
    """Count how often a record was read that had been read before."""
    return len(log.read) - len({each.number for each in log.read})


def _last(acknowledged: Sequence[Acknowledged]) -> datetime | None:
    return max((each.at for each in acknowledged), default=None)


def _between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round((end - start).total_seconds(), 3)
