"""The stages of a translation in order: proven before, facts, content, what is there twice, the owners' choice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import proven_before, translate_by_content
from kafka_dr.offsets.translate.choice import StartPolicy, chosen_starts, starts_by_policy
from kafka_dr.offsets.translate.facts import NO_FACTS, Facts, FactsOnDemand, gather, translate_by_facts
from kafka_dr.positions import Committed, OffsetRange, PartitionOffset, TopicPartition

#: Offsets of the source, next to read, by partition.
Offsets: TypeAlias = Mapping[TopicPartition, Collection[int]]
#: Compares records. It answers for every offset, and no answer is late: no unread record is below it.
ByContent: TypeAlias = Callable[[Offsets], Mapping[PartitionOffset, Translation]]
#: Returns the facts about partitions.
FactsOf: TypeAlias = Callable[[Collection[TopicPartition]], Facts]
#: Offsets that are compared by content at once. For more, what audits know is read first.
FEW_OFFSETS = 1_000


def translate(basis: TranslationBasis, committed: Committed, policy: StartPolicy) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, and follow their owners' choices and the policy.

    Groups whose owners chose another start than the exact offset get that. An unknown offset becomes what the policy
    says of unknown offsets.
    """
    on_demand = FactsOnDemand(basis)
    translated = translate_committed(basis, committed, on_demand)
    translated = chosen_starts(basis, translated, policy, on_demand)
    return starts_by_policy(basis, translated, policy, on_demand)


def translate_committed(
    basis: TranslationBasis, committed: Committed, on_demand: FactsOnDemand | None = None
) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source as precisely as it is known, past quarantined ranges.

    :param on_demand: if other stages need facts as well
    """
    offsets = offsets_of(committed)
    proven = counted(basis, proven_before(basis, offsets))
    found = {
        **proven,
        **_compared(basis, _those(offsets, lambda at: at not in proven), on_demand or FactsOnDemand(basis)),
    }
    passed_over, ignored = basis.ignored
    translated = [without_ignored(each, passed_over.get(each.partition, ())) for each in for_groups(committed, found)]
    if not ignored:
        return translated
    starts = basis.target.topics.log_starts(ignored)
    ignored = {p: [each for each in ranges if each.end > starts[p]] for p, ranges in ignored.items()}
    return [past_ignored(each, ignored.get(each.partition, ())) for each in translated]


def _compared(
    basis: TranslationBasis, offsets: Offsets, on_demand: FactsOnDemand
) -> Mapping[PartitionOffset, Translation]:
    """Translate what this process has not compared yet: a few offsets by content at once; of many, audits know most."""
    if sum(map(len, offsets.values())) <= FEW_OFFSETS:
        return counted(basis, translate_by_content(basis, offsets))
    audited = gather(basis, offsets, with_syncs=False).partitions
    return by_facts_first(basis, offsets, audited, complete=on_demand.of)


def _those(offsets: Offsets, are_wanted: Callable[[PartitionOffset], bool]) -> Offsets:
    left = {p: [each for each in wanted if are_wanted((p, each))] for p, wanted in offsets.items()}
    return {p: each for p, each in left.items() if each}


def offsets_of(committed: Committed) -> dict[TopicPartition, set[int]]:
    """Return what groups have committed, by partition: an offset that several groups share is translated once."""
    offsets: dict[TopicPartition, set[int]] = {}
    for each in committed.values():
        for partition, offset in each.items():
            offsets.setdefault(partition, set()).add(offset)
    return offsets


def for_groups(committed: Committed, found: Mapping[PartitionOffset, Translation]) -> list[TranslatedOffset]:
    """Return the translations of what groups have committed, in the order of groups and partitions.

    :param found: of every offset that :func:`offsets_of` returned
    """
    return [
        found[partition, offset].of(group, partition)
        for group, offsets in sorted(committed.items())
        for partition, offset in sorted(offsets.items())
    ]


def by_facts_first(
    basis: TranslationBasis, offsets: Offsets, facts: Facts, *, complete: FactsOf | None = None
) -> Mapping[PartitionOffset, Translation]:
    """Translate offsets by what is known, and by content what is not: also what another replication had copied.

    :param complete: see :func:`translate_offsets`
    """
    by_content = partial(translate_by_content, basis)
    found = translate_offsets(
        by_content, offsets, facts=facts, complete=complete, only_by_content=basis.made_by_another
    )
    return counted(basis, found)


def counted(
    basis: TranslationBasis, found: Mapping[PartitionOffset, Translation]
) -> Mapping[PartitionOffset, Translation]:
    """Add what a group reads twice because another replication copied it twice, before a take over."""
    copies = basis.taken_over
    faulty = {p for (p, _), each in found.items() if p in copies and copies[p].repeats_after(each.target_offset)}
    if not faulty:
        return found
    ends = basis.target.topics.high_watermarks(faulty)
    return {
        (p, offset): copies[p].counted(answer, ends[p]) if p in faulty else answer
        for (p, offset), answer in found.items()
    }


def translate_offsets(
    by_content: ByContent,
    offsets: Offsets,
    *,
    facts: Facts,
    complete: FactsOf | None = None,
    only_by_content: Callable[[TopicPartition, int], bool] = lambda _partition, _offset: False,
) -> Mapping[PartitionOffset, Translation]:
    """Take what the facts say exactly, and compare content for the rest.

    :param by_content: compares content; its answer counts if it has an offset, exact or not
    :param offsets: next to read on the source, by partition
    :param facts: of every partition
    :param complete: if the facts lack the offset syncs: returns those of partitions whose content gave no answer
    :param only_by_content: whether the facts of a partition say nothing about an offset: another replication made the
        copy there
    """
    found = _by_facts(offsets, facts, only_by_content)
    unsure = {
        p: left
        for p, left in _not_exact(offsets, found).items()
        if (known := facts.get(p, NO_FACTS)).source is not None and known.target is not None
    }
    read = by_content(unsure) if unsure else {}
    # Content is compared only up to the last stable offset. A group that reads uncommitted records may be past it, and
    # then keeps what the facts say.
    answered = {key: answer for key, answer in read.items() if answer.target_offset is not None}
    if complete is not None and (rest := _not_exact(offsets, found, but=answered)):
        found |= _by_facts(rest, complete(rest), only_by_content)
    return found | answered


def _by_facts(
    offsets: Offsets, facts: Facts, only_by_content: Callable[[TopicPartition, int], bool]
) -> dict[PartitionOffset, Translation]:
    return {
        (p, offset): _not_by_facts(offset)
        if only_by_content(p, offset)
        else translate_by_facts(offset, facts.get(p, NO_FACTS))
        for p, wanted in offsets.items()
        for offset in wanted
    }


def _not_exact(
    offsets: Offsets, found: Mapping[PartitionOffset, Translation], *, but: Collection[PartitionOffset] = ()
) -> Offsets:
    """Return the offsets that have no exact answer.

    :param but: these are left out
    """
    return _those(offsets, lambda at: at not in but and found[at].kind != "exact")


def _not_by_facts(offset: int) -> Translation:
    reason = "another replication made the copy there, and its content was not compared"
    return Translation(offset, None, "unknown", None, reason)


def without_ignored(translated: TranslatedOffset, ignored: Sequence[OffsetRange]) -> TranslatedOffset:
    """Say how much of what the group has not read on the source is quarantined there, and has no copy.

    :param ignored: of the partition, on the source
    """
    left = sum(max(0, each.end - max(each.start, translated.source_offset)) for each in ignored)
    if not left:
        return translated
    said = f"{translated.reason}; {left} offsets that it has not read on the source are quarantined, and have no copy"
    return replace(translated, reason=said)


def past_ignored(translated: TranslatedOffset, ignored: Sequence[OffsetRange]) -> TranslatedOffset:
    """Skip quarantined ranges: where the group's last record is before one, its next one is after it.

    A group that has not come so far would read records that were never copied. Only a person may decide that.

    :param ignored: of the partition, on the target, rising
    """
    for each in ignored:
        if translated.target_offset is None:
            return translated
        why = f"{translated.reason}; offsets {each.start} to {each.end} of the target are quarantined"
        if translated.target_offset < each.start:
            return replace(
                translated, target_offset=None, kind="unknown", redelivered_at_most=None, reason=why, second_copies=0
            )
        if translated.target_offset < each.end:
            translated = replace(translated, target_offset=each.end, reason=why)
    return translated
