"""The verdict on the canaries of a flow: on time, late, lost, duplicated, reordered, looped, or unknown.

The ends of both logs are read from Kafka, never from memory, so that a restart neither forgets a loss nor invents one.
Only the ends of both logs are read; canaries before them are not judged:

* *lost*: a canary that is not on the target, between two replicated ones in the order of the source's log. Replication
  keeps the order of a partition, so it will never arrive. And because an earlier canary is still on the target, it has
  not expired there.
* *late*: a canary after all replicated ones that is older than allowed, or one that was seen to arrive too late.
* *looped*: a canary that is twice in the log of the cluster that it was sent to: it was replicated back to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from kafka_dr.canary.record import Canary, CanaryFlow, SeenCanary, SentCanary


class CanaryOutcome(StrEnum):
    """The verdict on a partition or a flow, the worst first; unknown is never good."""

    LOOPED = "looped"
    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    LATE = "late"
    UNKNOWN = "unknown"
    ON_TIME = "on_time"


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """The canaries of one partition.

    :param on_time: how many were replicated in time
    :param pending: how many are not replicated yet and are not overdue
    :param late: those that are overdue, or arrived too late
    :param rpo_seconds: how much older the newest replicated canary is than the newest one sent; ``None`` if none was
        replicated
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
    def verdict(self) -> CanaryOutcome:
        """The worst that was found."""
        for verdict in (
            CanaryOutcome.LOOPED,
            CanaryOutcome.LOST,
            CanaryOutcome.DUPLICATED,
            CanaryOutcome.REORDERED,
            CanaryOutcome.LATE,
        ):
            if getattr(self, verdict.value):
                return verdict
        return CanaryOutcome.ON_TIME if self.on_time else CanaryOutcome.UNKNOWN

    def __str__(self) -> str:
        head = f"partition {self.partition}: {self.verdict.value.replace('_', ' ')}"
        if self.verdict is CanaryOutcome.ON_TIME:
            return f"{head}, {self.on_time} replicated"
        if self.verdict is CanaryOutcome.UNKNOWN:
            return f"{head}, {f'{self.pending} not replicated yet' if self.pending else 'nothing was sent'}"
        canaries: tuple[Canary, ...] = getattr(self, self.verdict.value)
        numbers = ", ".join(str(canary.number) for canary in canaries[:5])
        more = f" and {len(canaries) - 5} more" if len(canaries) > 5 else ""
        return f"{head}, number {numbers}{more} of {canaries[0].producer}"


@dataclass(frozen=True, slots=True)
class CanaryVerdict:
    """The canaries of a flow."""

    partitions: tuple[PartitionVerdict, ...]

    @property
    def verdict(self) -> CanaryOutcome:
        """The worst of all partitions; unknown if there is none."""
        found = {partition.verdict for partition in self.partitions}
        return next((verdict for verdict in CanaryOutcome if verdict in found), CanaryOutcome.UNKNOWN)

    @property
    def rpo_seconds(self) -> float | None:
        """The worst of all partitions; ``None`` if it is unknown for one of them."""
        known = [partition.rpo_seconds for partition in self.partitions if partition.rpo_seconds is not None]
        return max(known) if known and len(known) == len(self.partitions) else None

    @property
    def copied_twice(self) -> int:
        """How many canaries were copied more than once."""
        return sum(len(partition.duplicated) for partition in self.partitions)

    def without_duplicates(self) -> CanaryVerdict:
        """Return the verdict as if none had been copied more than once: replication at least once does that."""
        return CanaryVerdict(tuple(replace(partition, duplicated=()) for partition in self.partitions))

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
    :param partitions: the partitions to judge; one without canaries is unknown
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
    replicated = frozenset(on_target)
    indexes = [index for index, canary in enumerate(on_source) if canary in replicated]
    missing = _missing(flow, on_source, on_target)
    # Canaries before the first that is on both clusters may be before the part of the target's log that was read.
    first = -1 if complete else indexes[0] if indexes else len(on_source)
    waiting = [canary for _, canary, passed in missing if not passed]
    slow = {each.canary for each in seen if each.seen_at is not None and each.seen_at - each.canary.at > late_after}
    mine = {canary for canary in on_source if canary.producer == flow.producer}
    looped = _more_than_once(on_source, origin=flow.source) | _more_than_once(on_target, origin=flow.target)
    late = {canary for canary in waiting if canary.at <= overdue} | (slow & mine)
    return PartitionVerdict(
        partition=partition,
        on_time=len(mine & replicated - slow),
        pending=sum(canary.at > overdue for canary in waiting),
        late=tuple(sorted(late)),
        lost=tuple(canary for index, canary, passed in missing if passed and index > first),
        duplicated=tuple(sorted(_more_than_once(on_target, origin=flow.source) - looped)),
        reordered=_after_later_ones(on_source, on_target),
        looped=tuple(sorted(looped)),
        rpo_seconds=_rpo_seconds(flow, mine, replicated),
    )


def _missing(
    flow: CanaryFlow, on_source: Sequence[Canary], on_target: Sequence[Canary]
) -> list[tuple[int, Canary, bool]]:
    """Return index and canary of what is not on the target, and whether a later canary is on it already."""
    sent, replicated = frozenset(on_source), frozenset(on_target)
    last = max((index for index, canary in enumerate(on_source) if canary in replicated), default=-1)
    # Canaries that were not read on the source are older, or were sent after the source was read: their times show it.
    others = [canary.at for canary in on_target if canary.producer == flow.producer and canary not in sent]
    newest = max(others, default=None)
    return [
        (index, canary, index < last or (newest is not None and canary.at < newest))
        for index, canary in enumerate(on_source)
        if canary not in replicated and canary.producer == flow.producer
    ]


def _more_than_once(log: Iterable[Canary], *, origin: str) -> set[Canary]:
    counted = Counter(canary for canary in log if canary.origin == origin)
    return {canary for canary, times in counted.items() if times > 1}


def _after_later_ones(on_source: Sequence[Canary], on_target: Sequence[Canary]) -> tuple[Canary, ...]:
    """Return the canaries that are, on the target, after one that follows them on the source; first copies only."""
    indexes = {canary: index for index, canary in reversed(list(enumerate(on_source)))}
    furthest, found = -1, []
    for canary in dict.fromkeys(on_target):
        index = indexes.get(canary)
        if index is None:
            continue
        if index < furthest:
            found.append(canary)
        furthest = max(furthest, index)
    return tuple(found)


def _rpo_seconds(flow: CanaryFlow, mine: Collection[Canary], on_target: Collection[Canary]) -> float | None:
    replicated = [canary.at for canary in on_target if canary.producer == flow.producer]
    if not replicated or not mine:
        return None
    return max((max(canary.at for canary in mine) - max(replicated)).total_seconds(), 0.0)
