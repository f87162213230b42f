"""Where each group of a run resumes on the target: facts, then content, then its owners' choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_dr.audit import FileFrontierStore
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.group_offsets.journaled_points import ignored_ranges, last_rebuild, seeds
from kafka_dr.group_offsets.offset_facts import (
    by_time_of_the_unread,
    chosen_starts,
    facts_of,
    syncs_and_maps,
)
from kafka_dr.json_documents import Recorder, not_recorded
from kafka_dr.offsets import (
    AnchorCache,
    ContentOffsetMap,
    Ignored,
    TranslatedOffset,
    Translation,
    for_groups,
    offsets_of,
    translate_offsets,
)
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed, SeedPoint
from kafka_dr.runs.recorded_files import recorder
from kafka_dr.runs.run import Run

#: Offsets that are compared by content at once. For more, what audits know is read first.
_FEW_OFFSETS = 1_000


def translate(run: Run, committed: Committed) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, and follow the owners' choices and the policy.

    Groups whose owners chose another start than the exact offset get that. An unknown offset becomes what
    ``groups_policy.unknown_offsets`` says.
    """
    # Applications wait, so what is learned now is not kept.
    found = translated(run, committed, keeps=False)
    policy = run.group.groups_policy
    if any(policy.start_for(group) != "exact" for group in committed):
        found = chosen_starts(run, found)
    if policy.unknown_offsets == "refuse" or all(t.target_offset is not None for t in found):
        return found
    if policy.unknown_offsets == "timestamp":
        return by_time_of_the_unread(run, found)
    unknown = {t.partition for t in found if t.target_offset is None}
    held = held_by(run.operator(run.target), unknown, uncommitted=True)
    return [t if t.target_offset is not None else _from_the_start(t, held[t.partition]) for t in found]


def translated(run: Run, committed: Committed, *, keeps: bool = True) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, past quarantined ranges of the target.

    :param keeps: as for :func:`offset_map`
    """
    ignored, offsets = ignored_ranges(run), offsets_of(committed)
    by_content = offset_map(run, ignored=ignored, keeps=keeps).translate
    # A few offsets are read at once. Of many, audits have settled most before.
    if sum(map(len, offsets.values())) > _FEW_OFFSETS:
        found = translate_offsets(by_content, offsets, facts=facts_of(run, offsets).partitions)
    else:
        found = by_content(offsets)
    answers = for_groups(committed, found)
    if not ignored[1]:
        return answers
    starts = run.operator(run.target).topics.log_starts(ignored[1])
    on_target = {p: [each for each in ranges if each.end > starts[p]] for p, ranges in ignored[1].items()}
    return [_past(t, on_target.get(t.partition, ())) for t in answers]


def offset_map(run: Run, *, ignored: tuple[Ignored, Ignored] | None = None, keeps: bool = True) -> ContentOffsetMap:
    """Return what translates offsets from source to target by content.

    :param ignored: what :func:`ignored_ranges` returned a moment ago; it is looked up where ``None``
    :param keeps: whether the pairs that it learns are kept for the next translation
    """
    points = seeds(run)
    verified = FileFrontierStore(run.evidence_root, run.group.name).read(f"{run.source}-to-{run.target}")
    # A frontier of a cluster that was copied again since says nothing about the records that it holds now.
    if verified is not None and verified.identity[2] >= last_rebuild(run):
        for (topic, number), at in verified.points.items():
            points.setdefault(TopicPartition(topic, number), []).append(SeedPoint(at.source_offset, at.target_offset))
    syncs, maps = syncs_and_maps(run)
    # A dry run writes to no register, so it cannot record a digest.
    keeps = keeps and not run.request.dry_run
    return ContentOffsetMap(
        syncs.source,
        syncs.target,
        seeds=points,
        cache=AnchorCache(run.evidence_root, run.group.name, record=_recorder(run) if keeps else not_recorded),
        keeps=keeps,
        syncs=syncs,
        maps=maps,
        ignored=ignored_ranges(run) if ignored is None else ignored,
    )


def _recorder(run: Run) -> Recorder:
    # A source that may be dead is not waited for.
    also = () if run.silent or run.request.verb == "unplanned_failover" else (run.source,)
    return recorder(run.clients, needed_on=run.target, also_on=also)


def stale_offsets(run: Run, committed: Committed) -> list[TranslatedOffset]:
    """Return offsets that only the target has, from an earlier time when it was active: they go to their log's start.

    Left as they are they could be past records that the group has not seen.
    """
    kept = run.operator(run.target).groups.offsets(run.moved_groups(run.target))
    stale = [
        (group, partition)
        for group, offsets in kept.items()
        for partition in offsets
        if run.group.owns_topic(partition.topic) and partition not in committed.get(group, {})
    ]
    if not stale:
        return []
    held = held_by(run.operator(run.target), {partition for _, partition in stale}, uncommitted=True)
    reason = "committed only on the target, when it was active before"
    return [Translation(0, held[p].start, "bounded", len(held[p]), reason).of(group, p) for group, p in sorted(stale)]


def _past(each: TranslatedOffset, ignored: Sequence[OffsetRange]) -> TranslatedOffset:
    """Skip quarantined ranges: where the group's last record is before one, its next one is after it.

    A group that has not come so far would read records that were never copied. Only a person may decide that.
    """
    for left_out in ignored:
        if each.target_offset is None:
            return each
        where = f"{each.reason}; offsets {left_out.start} to {left_out.end} of the target are quarantined"
        if each.target_offset < left_out.start:
            return replace(each, target_offset=None, kind="unknown", redelivered_at_most=None, reason=where)
        if each.target_offset < left_out.end:
            each = replace(each, target_offset=left_out.end, reason=where)
    return each


def _from_the_start(each: TranslatedOffset, held: OffsetRange) -> TranslatedOffset:
    """Where the target has deleted records, nobody knows whether the group had read them all."""
    return replace(
        each,
        target_offset=held.start,
        kind="declared" if held.start else "bounded",
        redelivered_at_most=len(held),
        skipped_at_most=None if held.start else 0,
        reason=f"{each.reason}; by policy from the earliest record on",
    )
