"""Where a group resumes by its owners' choice, and what each choice would skip or deliver again.

``exact`` is the rule. The others are what is usual without a proven map. Each is compared with the exact offset, so
that owners who choose one know the price.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol

from kafka_dr.offsets.translate.answers import Kind, TranslatedOffset, Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_time import first_at, times_of_unread
from kafka_dr.offsets.translate.facts import Facts, FactsOnDemand, PartitionFacts
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import OffsetRange, PartitionOffset, TopicPartition

Strategy = Literal["exact", "mm2_checkpoint", "timestamp", "at_time", "earliest", "latest"]
STRATEGIES: tuple[Strategy, ...] = ("exact", "mm2_checkpoint", "timestamp", "at_time", "earliest", "latest")


class StartPolicy(Protocol):
    """What the owners of consumer groups declared; the topology has it."""

    @property
    def unknown_offsets(self) -> Literal["refuse", "earliest", "timestamp", "at_time"]:
        """What becomes of an offset that cannot be translated: none, the earliest record, or the first of a time."""

    @property
    def start_time(self) -> datetime | None:
        """The time at which a person let groups begin; aware. ``None`` if nobody chose one."""

    @property
    def timestamp_margin_seconds(self) -> float:
        """How long before the first unread record a group begins that starts by its time."""

    def start_for(self, group: str) -> Strategy:
        """Return where a consumer group resumes."""


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


def start(
    strategy: Strategy,
    exact: Translation,
    facts: PartitionFacts,
    *,
    by_time: int | None = None,
    at_time: int | None = None,
) -> Translation:
    """Return where a choice leads.

    :param exact: the translation, as precise as it is known
    :param by_time: the target's first offset that is as young as the first unread record, less a margin
    :param at_time: the target's first offset that is as young as the policy's start time
    """
    target = facts.target
    if strategy == "exact":
        return exact
    if target is None:
        return Translation(exact.source_offset, None, "unknown", None, "the target has no such partition", None)
    chosen, why = _chosen(strategy, exact.source_offset, facts, target, by_time if strategy != "at_time" else at_time)
    if chosen is None:
        return Translation(exact.source_offset, None, "unknown", None, why, None)
    again, skipped = _cost(chosen, exact.target_offset, facts)
    if again is not None and exact.redelivered_at_most is not None:
        again = min(again + exact.redelivered_at_most, max(0, target.end - chosen))
    kind: Kind = "exact" if again == 0 and exact.kind == "exact" else "bounded"
    if skipped != 0 or strategy == "at_time":
        kind, why = "declared", f"{why}, by choice of its owners"
    # The local check of the exact offset holds for no other one.
    proof = exact.proof if chosen == exact.target_offset else "unknown"
    second = min(exact.second_copies, again or 0)
    return Translation(exact.source_offset, chosen, kind, again, why, skipped, proof, second)


def chosen_starts(
    basis: TranslationBasis, translated: list[TranslatedOffset], policy: StartPolicy, on_demand: FactsOnDemand
) -> list[TranslatedOffset]:
    """Move the groups whose owners chose another start than the exact offset; the others stay as they are.

    :param translated: as precise as it is known
    :param on_demand: is asked about the partitions of those groups alone
    """
    choosing = [each for each in translated if policy.start_for(each.group) != "exact"]
    if not choosing:
        return translated
    facts = on_demand.of({each.partition for each in choosing})
    timed = [each for each in choosing if policy.start_for(each.group) == "timestamp"]
    exact = {
        each.on_source: each.target_offset
        for each in choosing
        if each.kind == "exact" and each.target_offset is not None
    }
    by_time = _by_time(basis, timed, policy, facts, exact=exact)
    chosen = {each.partition for each in choosing if policy.start_for(each.group) == "at_time"}
    held = {p: there for p in chosen if (there := facts[p].target) is not None}
    at_time = first_at(basis.target, held, policy.start_time)
    moved = []
    for each in translated:
        strategy = policy.start_for(each.group)
        if strategy != "exact":
            found = start(
                strategy,
                each,
                facts[each.partition],
                by_time=by_time.get(each.on_source),
                at_time=at_time.get(each.partition),
            )
            each = found.of(each.group, each.partition)
        moved.append(each)
    return moved


def starts_by_policy(
    basis: TranslationBasis, translated: list[TranslatedOffset], policy: StartPolicy, on_demand: FactsOnDemand
) -> list[TranslatedOffset]:
    """Let what has no translation begin where the policy says.

    :param on_demand: is asked only if the policy goes by time
    """
    unknown = [each for each in translated if each.target_offset is None]
    if not unknown or policy.unknown_offsets == "refuse":
        return translated
    partitions = {each.partition for each in unknown}
    if policy.unknown_offsets == "timestamp":
        by_time = _by_time(basis, unknown, policy, on_demand.of(partitions), exact={})
        how = "by policy from the time of the first unread record on"
        return [
            _from_a_time(each, by_time.get(each.on_source), how) if each.target_offset is None else each
            for each in translated
        ]
    held = held_by(basis.target, partitions, uncommitted=True)
    if policy.unknown_offsets == "at_time":
        at_time = first_at(basis.target, held, policy.start_time)
        how = "by choice of a person from the start time on"
        return [
            _from_a_time(each, at_time.get(each.partition), how) if each.target_offset is None else each
            for each in translated
        ]
    return [_from_the_start(each, held) if each.target_offset is None else each for each in translated]


def _by_time(
    basis: TranslationBasis,
    translated: Collection[TranslatedOffset],
    policy: StartPolicy,
    facts: Facts,
    *,
    exact: Mapping[PartitionOffset, int],
) -> Mapping[PartitionOffset, int]:
    """Return, by source offset, where the target is as young as the first unread record, less the policy's margin."""
    if not translated:
        return {}
    offsets: dict[TopicPartition, set[int]] = {}
    for each in translated:
        offsets.setdefault(each.partition, set()).add(each.source_offset)
    return times_of_unread(basis, facts, offsets, exact=exact, margin_seconds=policy.timestamp_margin_seconds).by_time


def _from_a_time(each: TranslatedOffset, begin: int | None, how: str) -> TranslatedOffset:
    """Begin at an offset that a time led to, if there is one. What is skipped is not known: the exact offset is not.

    :param how: as it continues the reason
    """
    if begin is None:
        return each
    reason = f"{each.reason}; {how}"
    return replace(each, target_offset=begin, kind="declared", skipped_at_most=None, reason=reason)


def _from_the_start(each: TranslatedOffset, held: Mapping[TopicPartition, OffsetRange]) -> TranslatedOffset:
    """Where the target has deleted records, nobody knows whether the group had read them all."""
    begin, again = held[each.partition].start, len(held[each.partition])
    return replace(
        each,
        target_offset=begin,
        kind="declared" if begin else "bounded",
        redelivered_at_most=again,
        skipped_at_most=None if begin else 0,
        reason=f"{each.reason}; by policy from the earliest record on",
    )


def _chosen(
    strategy: Strategy, position: int, facts: PartitionFacts, target: OffsetRange, by_time: int | None
) -> tuple[int | None, str]:
    if strategy == "earliest":
        return target.start, "from the earliest record on"
    if strategy == "latest":
        return target.end, "from the end on"
    if strategy == "timestamp":
        return by_time, "by timestamp" if by_time is not None else "no record shows the time of the first unread one"
    if strategy == "at_time":
        return by_time, "from the start time on" if by_time is not None else "no start time is chosen"
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
