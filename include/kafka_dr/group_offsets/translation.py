"""Where each group of a run resumes on the target: facts, then content, then its owners' choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.audit import FileFrontierStore
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.group_offsets.offset_facts import (
    by_time_of_the_unread,
    chosen_starts,
    facts_of,
    syncs_and_maps,
)
from kafka_dr.json_documents import Recorder
from kafka_dr.offsets import (
    AnchorCache,
    ContentOffsetMap,
    Ignored,
    TranslatedOffset,
    Translation,
    translate_groups,
)
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed, SeedPoint
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds
from kafka_dr.register.quarantine import QUARANTINE, QuarantinedRange, by_partition, quarantined
from kafka_dr.runs.recorded_files import recorder
from kafka_dr.runs.run import Run

#: Offsets that are compared by content at once. For more, what audits know is read first.
_FEW_OFFSETS = 1_000


def translate(run: Run, committed: Committed) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, and follow the owners' choices and the policy.

    Groups whose owners chose another start than the exact offset get that. An unknown offset becomes what
    ``groups_policy.unknown_offsets`` says.
    """
    found = translated(run, committed)
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


def translated(run: Run, committed: Committed) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, past quarantined ranges of the target."""
    ignored = ignored_ranges(run)
    offsets = {each for by_partition in committed.values() for each in by_partition.items()}
    # A few offsets are read at once. Of many, audits have settled most before.
    facts = facts_of(run, {p for p, _ in offsets}).partitions if len(offsets) > _FEW_OFFSETS else None
    found = translate_groups(offset_map(run, ignored=ignored).translate, committed, facts=facts)
    if not ignored[1]:
        return list(found)
    starts = run.operator(run.target).topics.log_starts(ignored[1])
    on_target = {p: [each for each in ranges if each.end > starts[p]] for p, ranges in ignored[1].items()}
    return [_past(t, on_target.get(t.partition, ())) for t in found]


def offset_map(run: Run, *, ignored: tuple[Ignored, Ignored] | None = None) -> ContentOffsetMap:
    """Return what translates offsets from source to target by content.

    :param ignored: what :func:`ignored_ranges` returned a moment ago; it is looked up where ``None``
    """
    points = seeds(run)
    store = FileFrontierStore(run.evidence_root, run.group.name)
    verified = store.read(f"{run.source}-to-{run.target}")
    # A frontier of a cluster that was copied again since says nothing about the records that it holds now.
    if verified is not None and verified.identity[2] >= last_rebuild(run):
        for (topic, number), at in verified.points.items():
            points.setdefault(TopicPartition(topic, number), []).append(SeedPoint(at.source_offset, at.target_offset))
    syncs, maps = syncs_and_maps(run)
    return ContentOffsetMap(
        syncs.source,
        syncs.target,
        seeds=points,
        cache=AnchorCache(run.evidence_root, run.group.name, record=_recorder(run)),
        syncs=syncs,
        maps=maps,
        ignored=ignored_ranges(run) if ignored is None else ignored,
    )


def _recorder(run: Run) -> Recorder:
    if run.request.dry_run:
        return _nothing_is_recorded
    # A source that may be dead is not waited for.
    also = () if run.silent or run.request.verb == "unplanned_failover" else (run.source,)
    return recorder(run.clients, needed_on=run.target, also_on=also)


def _nothing_is_recorded(path: str, sha256: str | None) -> None:
    raise Refused("a dry run writes to no register")


def seeds(run: Run) -> dict[TopicPartition, list[SeedPoint]]:
    """Return every point where a direction began, seen from this run's source; journaled by earlier runs."""
    found: dict[TopicPartition, list[SeedPoint]] = {}
    for seed in valid_seeds(run):
        for partition, point in seed.points.items():
            found.setdefault(partition, []).append(point if seed.source == run.source else point.reversed)
    return found


def valid_seeds(run: Run) -> list[FlowSeed]:
    """Return the seeds between this run's two clusters whose logs are still those that the clusters have."""
    # Where a cluster was copied again, what was known of the topics before does not count.
    rebuilt, clusters = last_rebuild(run), {run.source, run.target}
    seeds = journaled_seeds(run.history).values()
    return [seed for seed in seeds if {seed.source, seed.target} == clusters and seed.epoch >= rebuilt]


def last_rebuild(run: Run) -> int:
    """Return the epoch in which one of this run's clusters was last copied again from nothing; 0 where none was."""
    rebuilds = (facts["rebuild"] for facts in run.history.values() if "rebuild" in facts)
    return max((int(each["epoch"]) for each in rebuilds if each["cluster"] in (run.source, run.target)), default=0)


def ignored_ranges(run: Run) -> tuple[Ignored, Ignored]:
    """Return what failbacks have quarantined on source and target: it is neither copied nor a copy."""
    if not any(QUARANTINE in facts for facts in run.history.values()):
        return {}, {}
    on_source, on_target = (
        {
            p: [OffsetRange(each.start, each.end) for each in found]
            for p, found in by_partition(quarantined_on(run, cluster)).items()
        }
        for cluster in (run.source, run.target)
    )
    return on_source, on_target


def quarantined_on(run: Run, cluster: str) -> tuple[QuarantinedRange, ...]:
    """Return what is quarantined on a cluster, of the topics that it has now."""
    return quarantined(run.history, cluster, {name: topic.topic_id for name, topic in run.topics(cluster).items()})


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


def local_checks_said(found: Collection[TranslatedOffset]) -> str:
    """Say what the records around each translated offset show, as counts."""
    counted = Counter(each.proof for each in found)
    words = {
        "right": "resume at the first unread record",
        "early": "resume before it, so that records come again",
        "unknown": "cannot be judged by the records around them",
    }
    said = [f"{counted[verdict]} {words}" for verdict, words in words.items() if counted[verdict]]  # type: ignore[index]
    return "no offset is past an unread record: " + (", ".join(said) or "none was moved")


def to_json(each: TranslatedOffset) -> dict[str, Any]:
    """Return a translated offset as JSON, as it is journaled and kept as evidence."""
    return {
        "group": each.group,
        "topic": each.partition.topic,
        "partition": each.partition.partition,
        "source_offset": each.source_offset,
        "target_offset": each.target_offset,
        "class": each.kind,
        "redelivered_at_most": each.redelivered_at_most,
        "reason": each.reason,
        "skipped_at_most": each.skipped_at_most,
        "proof": each.proof,
    }


def from_json(rows: Sequence[Mapping[str, Any]]) -> list[TranslatedOffset]:
    """Read what :func:`to_json` wrote."""
    return [
        TranslatedOffset(
            group=row["group"],
            partition=TopicPartition(row["topic"], row["partition"]),
            source_offset=row["source_offset"],
            target_offset=row["target_offset"],
            kind=row["class"],
            redelivered_at_most=row["redelivered_at_most"],
            reason=row["reason"],
            skipped_at_most=row.get("skipped_at_most", 0),
            proof=row.get("proof", "unknown"),
        )
        for row in rows
    ]


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
