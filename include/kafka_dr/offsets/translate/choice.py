"""Where a group resumes by its owners' choice, and what each choice would skip or deliver again. Pure.

``exact`` is the rule. The others are what is usual without a proven map. Each is compared with the exact offset, so
that owners who choose one know the price.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kafka_dr.offsets.translate.answers import Kind, Translation
from kafka_dr.offsets.translate.facts import PartitionFacts
from kafka_dr.positions import OffsetRange

Strategy = Literal["exact", "mm2_checkpoint", "timestamp", "earliest", "latest"]
STRATEGIES: tuple[Strategy, ...] = ("exact", "mm2_checkpoint", "timestamp", "earliest", "latest")


@dataclass(frozen=True, slots=True)
class WithCheckpoint:
    """A translation, and what MirrorMaker itself would have answered.

    :param mirrormaker: next to read on the target; ``None`` if it writes none, and ``auto.offset.reset`` decides
    :param mirrormaker_again: records that it would deliver again, at most; ``None`` if that is not known
    """

    translation: Translation
    mirrormaker: int | None
    mirrormaker_again: int | None


def with_checkpoint(position: int, facts: PartitionFacts, translation: Translation) -> WithCheckpoint:
    """Add what MirrorMaker's own checkpoint would do to an offset."""
    checkpoint = facts.mirrormaker.translate(position) if facts.mirrormaker is not None else None
    if checkpoint is None or translation.target_offset is None:
        return WithCheckpoint(translation, checkpoint, None)
    again = _between(checkpoint, translation.target_offset, facts)
    return WithCheckpoint(translation, checkpoint, again + (translation.redelivered_at_most or 0))


def start(strategy: Strategy, exact: Translation, facts: PartitionFacts, *, by_time: int | None = None) -> Translation:
    """Return where a choice leads.

    :param exact: the translation, as precise as it is known
    :param by_time: the target's first offset that is as young as the first unread record, less a margin
    """
    target = facts.target
    if strategy == "exact":
        return exact
    if target is None:
        return Translation(exact.source_offset, None, "unknown", None, "the target has no such partition", None)
    chosen, why = _chosen(strategy, exact.source_offset, facts, target, by_time)
    if chosen is None:
        return Translation(exact.source_offset, None, "unknown", None, why, None)
    again, skipped = _cost(chosen, exact.target_offset, facts)
    if again is not None and exact.redelivered_at_most is not None:
        again = min(again + exact.redelivered_at_most, max(0, target.end - chosen))
    kind: Kind = "exact" if again == 0 and exact.kind == "exact" else "bounded"
    if skipped != 0:
        kind, why = "declared", f"{why}, by choice of its owners"
    # The local check of the exact offset holds for no other one.
    proof = exact.proof if chosen == exact.target_offset else "unknown"
    return Translation(exact.source_offset, chosen, kind, again, why, skipped, proof)


def _chosen(
    strategy: Strategy, position: int, facts: PartitionFacts, target: OffsetRange, by_time: int | None
) -> tuple[int | None, str]:
    if strategy == "earliest":
        return target.start, "from the earliest record on"
    if strategy == "latest":
        return target.end, "from the end on"
    if strategy == "timestamp":
        return by_time, "by timestamp" if by_time is not None else "no record shows the time of the first unread one"
    checkpoint = facts.mirrormaker.translate(position) if facts.mirrormaker is not None else None
    if checkpoint is None:
        return None, "MirrorMaker writes no checkpoint for it"
    return checkpoint, "where MirrorMaker's checkpoint points to"


def _cost(chosen: int, exact: int | None, facts: PartitionFacts) -> tuple[int | None, int | None]:
    """Return how many records come again, and how many are skipped, compared with the exact offset."""
    if exact is None:
        # The earliest record skips nothing, wherever the exact offset is.
        begin = facts.target.start if facts.target else 0
        return None, None if chosen > begin else 0
    return _between(chosen, exact, facts), _between(exact, chosen, facts)


def _between(begin: int, end: int, facts: PartitionFacts) -> int:
    counted = facts.runs.between(begin, end)
    return max(0, end - begin) if counted is None else counted
