"""What the canaries of a flow say: on time, late, lost, duplicated, reordered, looped, or nothing at all.

Judged from the ends of both logs as they lie in Kafka, never from memory, so a restart neither forgets a loss nor
invents one. Both ends are cut off somewhere; what lies beyond the cut is not judged:

* *lost* is a canary between two that crossed, in the order of the source's log, that is not on the target.
  Replication keeps the order of a partition, so it will never come; and since one before it is still to be seen on
  the target, it was not cut off there.
* *late* is one behind all that crossed, older than allowed, or one that was seen to arrive later than allowed.
* *looped* is one that lies twice in the log of the very cluster that it was sent to: it went out and came home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kafka_dr.canary.record import Canary, CanaryFlow, SeenCanary, SentCanary


class Verdict(StrEnum):
    """What is said of a partition, or of a flow; the worst comes first, and unknown is never good."""

    LOOPED = "looped"
    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    LATE = "late"
    UNKNOWN = "unknown"
    ON_TIME = "on_time"


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """What the canaries of one partition say.

    :param on_time: how many crossed in time
    :param pending: how many have not crossed and need not have yet
    :param late: those that are overdue, or arrived so
    :param rpo_seconds: how much older the newest that crossed is than the newest sent; None where nothing crossed
    """

    partition: int
    on_time: int
    pending: int
    late: tuple[Canary, ...]
    lost: tuple[Canary, ...]
    duplicated: tuple[Canary, ...]
    reordered: tuple[Canary, ...]
    looped: tuple[Canary, ...]
    rpo_seconds: float | None

    @property
    def verdict(self) -> Verdict:
        """The worst that was found."""
        for verdict in (Verdict.LOOPED, Verdict.LOST, Verdict.DUPLICATED, Verdict.REORDERED, Verdict.LATE):
            if getattr(self, verdict.value):
                return verdict
        return Verdict.ON_TIME if self.on_time else Verdict.UNKNOWN

    def __str__(self) -> str:
        head = f"partition {self.partition}: {self.verdict.value.replace('_', ' ')}"
        if self.verdict is Verdict.ON_TIME:
            return f"{head}, {self.on_time} crossed"
        if self.verdict is Verdict.UNKNOWN:
            return f"{head}, {f'{self.pending} on the way' if self.pending else 'nothing was sent'}"
        canaries: tuple[Canary, ...] = getattr(self, self.verdict.value)
        numbers = ", ".join(str(canary.number) for canary in canaries[:5])
        more = f" and {len(canaries) - 5} more" if len(canaries) > 5 else ""
        return f"{head}, number {numbers}{more} of {canaries[0].producer}"


@dataclass(frozen=True, slots=True)
class CanaryVerdict:
    """What the canaries of a flow say."""

    partitions: tuple[PartitionVerdict, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all partitions; unknown when there is none."""
        found = {partition.verdict for partition in self.partitions}
        return next((verdict for verdict in Verdict if verdict in found), Verdict.UNKNOWN)

    @property
    def rpo_seconds(self) -> float | None:
        """The worst of all partitions; None when one of them does not know."""
        known = [partition.rpo_seconds for partition in self.partitions if partition.rpo_seconds is not None]
        return max(known) if known and len(known) == len(self.partitions) else None

    def __str__(self) -> str:
        worst = [str(partition) for partition in self.partitions if partition.verdict is self.verdict]
        return "; ".join(worst) or "no partition was looked at"


def judge(
    flow: CanaryFlow,
    sent: Iterable[SentCanary],
    seen: Iterable[SeenCanary],
    *,
    partitions: Collection[int],
    now: datetime,
    late_after: timedelta,
    complete: Collection[int] = (),
) -> CanaryVerdict:
    """Judge a flow by its canaries.

    :param sent: every canary at the end of the source's log, of whatever producer and origin
    :param seen: every canary at the end of the target's log, read after ``sent`` was
    :param partitions: those to judge; one without canaries is unknown
    :param now: when ``seen`` was read, aware
    :param late_after: how long a canary may take
    :param complete: partitions of which ``seen`` holds all that the target's log ever held
    """
    sent, seen = tuple(sent), tuple(seen)
    return CanaryVerdict(
        tuple(
            _judge_partition(
                flow,
                partition,
                sent=sorted((each for each in sent if each.partition == partition), key=lambda each: each.offset),
                seen=sorted((each for each in seen if each.partition == partition), key=lambda each: each.offset),
                overdue=now - late_after,
                late_after=late_after,
                complete=partition in complete,
            )
            for partition in sorted(partitions)
        )
    )


def _judge_partition(
    flow: CanaryFlow,
    partition: int,
    *,
    sent: Sequence[SentCanary],
    seen: Sequence[SeenCanary],
    overdue: datetime,
    late_after: timedelta,
    complete: bool,
) -> PartitionVerdict:
    on_source, on_target = [each.canary for each in sent], [each.canary for each in seen]
    there = frozenset(on_target)
    crossed = [place for place, canary in enumerate(on_source) if canary in there]
    missing = _missing(flow, on_source, on_target)
    # A canary before the first that is on both sides may have been cut off at the target's end.
    first = -1 if complete else crossed[0] if crossed else len(on_source)
    waiting = [canary for _, canary, passed in missing if not passed]
    slow = {each.canary for each in seen if each.seen_at is not None and each.seen_at - each.canary.at > late_after}
    mine = {canary for canary in on_source if canary.producer == flow.producer}
    looped = _more_than_once(on_source, origin=flow.source) | _more_than_once(on_target, origin=flow.target)
    late = {canary for canary in waiting if canary.at <= overdue} | (slow & mine)
    return PartitionVerdict(
        partition=partition,
        on_time=len(mine & there - slow),
        pending=sum(canary.at > overdue for canary in waiting),
        late=tuple(sorted(late)),
        lost=tuple(canary for place, canary, passed in missing if passed and place > first),
        duplicated=tuple(sorted(_more_than_once(on_target, origin=flow.source) - looped)),
        reordered=_behind_later_ones(on_source, on_target),
        looped=tuple(sorted(looped)),
        rpo_seconds=_rpo_seconds(flow, mine, there),
    )


def _missing(
    flow: CanaryFlow, on_source: Sequence[Canary], on_target: Sequence[Canary]
) -> list[tuple[int, Canary, bool]]:
    """Return place and canary of what is not on the target, and whether a later one is there already."""
    here, there = frozenset(on_source), frozenset(on_target)
    last = max((place for place, canary in enumerate(on_source) if canary in there), default=-1)
    # What the source's end does not hold is older than it, or was sent after it was read: times tell which.
    others = [canary.at for canary in on_target if canary.producer == flow.producer and canary not in here]
    newest = max(others, default=None)
    return [
        (place, canary, place < last or (newest is not None and canary.at < newest))
        for place, canary in enumerate(on_source)
        if canary not in there and canary.producer == flow.producer
    ]


def _more_than_once(log: Iterable[Canary], *, origin: str) -> set[Canary]:
    counted = Counter(canary for canary in log if canary.origin == origin)
    return {canary for canary, times in counted.items() if times > 1}


def _behind_later_ones(on_source: Sequence[Canary], on_target: Sequence[Canary]) -> tuple[Canary, ...]:
    """Return what comes, on the target, behind something that it precedes on the source; first copies only."""
    places = {canary: place for place, canary in reversed(list(enumerate(on_source)))}
    furthest, found = -1, []
    for canary in dict.fromkeys(on_target):
        place = places.get(canary)
        if place is None:
            continue
        if place < furthest:
            found.append(canary)
        furthest = max(furthest, place)
    return tuple(found)


def _rpo_seconds(flow: CanaryFlow, mine: Collection[Canary], there: Collection[Canary]) -> float | None:
    crossed = [canary.at for canary in there if canary.producer == flow.producer]
    if not crossed or not mine:
        return None
    return max((max(canary.at for canary in mine) - max(crossed)).total_seconds(), 0.0)
