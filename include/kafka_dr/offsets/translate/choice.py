"""Where a group goes on, by its owners' choice, and what each choice would skip or deliver again. Pure.

``exact`` is the rule. The others are what the field does without a proven map; each is compared with the exact place,
so that whoever chooses one knows the price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kafka_dr.offsets.translate.answers import Kind, TranslatedOffset
from kafka_dr.offsets.translate.facts import PartitionFacts, Placed
from kafka_dr.positions import OffsetRange

Strategy = Literal["exact", "mm2_checkpoint", "timestamp", "earliest", "latest"]
STRATEGIES: tuple[Strategy, ...] = ("exact", "mm2_checkpoint", "timestamp", "earliest", "latest")


@dataclass(frozen=True, slots=True)
class Start:
    """Where a group would go on.

    :param target_offset: next to read; ``None`` where the choice leads nowhere
    :param redelivered_at_most: ``None`` where nobody knows
    :param skipped_at_most: unread records that it would go past; ``None`` where nobody knows
    """

    strategy: Strategy
    target_offset: int | None
    kind: Kind
    redelivered_at_most: int | None
    skipped_at_most: int | None
    reason: str


def start(strategy: Strategy, placed: Placed, facts: PartitionFacts, *, by_time: int | None = None) -> Start:
    """Return where a choice leads.

    :param placed: the exact place, as sure as it is known
    :param by_time: the target's first offset that is as young as the first unread record, less a margin
    """
    exact, target = placed.translation, facts.target
    if strategy == "exact":
        return Start("exact", exact.target_offset, exact.kind, exact.redelivered_at_most, 0, exact.reason)
    if target is None:
        return Start(strategy, None, "unknown", None, None, "the target has no such partition")
    chosen, why = _chosen(strategy, placed, target, by_time)
    if chosen is None:
        return Start(strategy, None, "unknown", None, None, why)
    again, skipped = _cost(chosen, exact.target_offset, facts)
    if again is not None and exact.redelivered_at_most is not None:
        again = min(again + exact.redelivered_at_most, max(0, target.end - chosen))
    if skipped != 0:
        return Start(strategy, chosen, "declared", again, skipped, f"{why}, by choice of its owners")
    return Start(strategy, chosen, "exact" if again == 0 and exact.kind == "exact" else "bounded", again, 0, why)


def moved(each: TranslatedOffset, found: Start) -> TranslatedOffset:
    """Let a group go on where its owners' choice leads; what proved the exact place says nothing about another one."""
    return replace(
        each,
        target_offset=found.target_offset,
        kind=found.kind,
        redelivered_at_most=found.redelivered_at_most,
        skipped_at_most=found.skipped_at_most,
        reason=found.reason,
        proof=each.proof if found.target_offset == each.target_offset else "unknown",
    )


def _chosen(strategy: Strategy, placed: Placed, target: OffsetRange, by_time: int | None) -> tuple[int | None, str]:
    if strategy == "earliest":
        return target.start, "from the earliest record on"
    if strategy == "latest":
        return target.end, "from the end on"
    if strategy == "timestamp":
        return by_time, "by timestamp" if by_time is not None else "no record tells the time of the first unread one"
    if placed.mirrormaker is None:
        return None, "MirrorMaker writes no checkpoint for it"
    return placed.mirrormaker, "where MirrorMaker's checkpoint points to"


def _cost(chosen: int, exact: int | None, facts: PartitionFacts) -> tuple[int | None, int | None]:
    """Return how many records come again, and how many are skipped, beside the exact place."""
    if exact is None:
        # Who begins at the earliest record skips none, wherever the exact place is.
        begin = facts.target.start if facts.target else 0
        return None, None if chosen > begin else 0
    return _between(chosen, exact, facts), _between(exact, chosen, facts)


def _between(begin: int, end: int, facts: PartitionFacts) -> int:
    counted = facts.runs.between(begin, end)
    return max(0, end - begin) if counted is None else counted
