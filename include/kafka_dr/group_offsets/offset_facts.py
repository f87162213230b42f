"""What is known about the offsets of a run's groups before a record is read, and the starts their owners chose."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from kafka_dr.audit import stamped_topics
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.offsets import SyncLookup, TranslatedOffset
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.translate.choice import start, with_checkpoint
from kafka_dr.offsets.translate.facts import GatheredFacts, gather
from kafka_dr.offsets.translate.local_check import TranslatedPoint, check_locally_on
from kafka_dr.offsets.translate.read_logs import record_times
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed, PartitionOffset
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run


def read_positions(run: Run) -> tuple[Committed, tuple[str, ...]]:
    """Read what the group's consumer groups have committed on the source.

    :returns: by group, and a sentence for each group that could not be read: it is named, and never left out in silence
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    problems: list[str] = []
    answers = run.operator(run.source).group_reading.committed(groups_to_move(run, run.source))
    for group, answer in sorted(answers.items()):
        if isinstance(answer, KafkaDrError):
            problems.append(f"{group}: its positions cannot be read, nothing is known of it: {answer}")
        else:
            found[group] = {p: offset for p, offset in answer.items() if run.group.owns_topic(p.topic)}
    return found, tuple(problems)


def groups_to_move(context: GroupContext, cluster: str) -> list[str]:
    """Return the groups whose positions a failover moves, also those that the operator may not see.

    The audit may see them. They must not be left behind in silence.
    """
    seen = context.clients.cluster(cluster, "audit").groups.names()
    hidden = {name for name in seen if context.group.owns_group(name)} - set(context.group.groups_policy.left_behind)
    return sorted({*context.moved_groups(cluster), *hidden})


def syncs_and_maps(run: Run) -> tuple[SyncLookup, MapStore]:
    """Return what looks up the offset syncs between this run's clusters, and the offset maps that audits keep."""
    source, target = run.clients.cluster(run.source, "audit"), run.clients.cluster(run.target, "audit")
    source_id, target_id = (run.clients.topology.cluster(name).cluster_id for name in (run.source, run.target))
    return (
        SyncLookup(source, target, root=run.evidence_root, cluster_ids=(source_id, target_id)),
        MapStore(run.evidence_root, run.group.name, source=(run.source, source_id), target=(run.target, target_id)),
    )


def facts_of(run: Run, partitions: Collection[TopicPartition]) -> GatheredFacts:
    """Gather what is known about partitions of the group, without reading a record of them."""
    syncs, maps = syncs_and_maps(run)
    return gather(syncs.source, syncs.target, partitions, syncs=syncs, maps=maps)


def by_time(
    run: Run,
    gathered: GatheredFacts,
    positions: Mapping[TopicPartition, Collection[int]],
    *,
    exact: Mapping[PartitionOffset, int],
) -> tuple[dict[PartitionOffset, int], dict[PartitionOffset, int]]:
    """Return the time of the first unread record of each offset, and where the target is as young, less the margin.

    A group that has read everything begins at the target's end; an offset past the source's end has no time. If the
    target stamps records itself, its times are of another clock and of another moment. Then the target's own time of
    the unread record's copy counts, and an offset without an exact translation has no time.

    :param exact: translated offsets that are exact
    """
    partitions = gathered.partitions
    held = {p: span for p in positions if (span := partitions[p].source) is not None}
    unread = _times_of_unread(run, gathered, positions, exact)
    margin = int(run.group.groups_policy.timestamp_margin_seconds * 1000)
    young: dict[PartitionOffset, int] = {}
    times = run.clients.cluster(run.target, "audit").offsets_by_time
    pending = {p: sorted(offsets) for p, offsets in positions.items() if partitions[p].target is not None}
    while pending:
        layer = {p: offsets[0] for p, offsets in pending.items()}
        asked = {p: unread[p, offset] - margin for p, offset in layer.items() if (p, offset) in unread}
        answers = times.at_each(asked)
        for p, offset in layer.items():
            end = partitions[p].target.end  # type: ignore[union-attr]
            if p in answers:
                answer = answers[p]
                young[p, offset] = end if answer is None else answer
            elif (p in held and offset == held[p].end) or exact.get((p, offset)) == end:
                young[p, offset] = end
        pending = {p: offsets[1:] for p, offsets in pending.items() if len(offsets) > 1}
    return unread, young


def _times_of_unread(
    run: Run,
    gathered: GatheredFacts,
    positions: Mapping[TopicPartition, Collection[int]],
    exact: Mapping[PartitionOffset, int],
) -> dict[PartitionOffset, int]:
    """Return the time of the first unread record of each position, by the clock that stamped the target's records."""
    partitions, target = gathered.partitions, run.clients.cluster(run.target, "audit")
    on_target = {p: span for p in positions if (span := partitions[p].target) is not None}
    stamped = stamped_topics(target.topics.configs({p.topic for p in on_target}))
    on_source = {p: span for p in positions if p.topic not in stamped and (span := partitions[p].source) is not None}
    unread = record_times(run.clients.cluster(run.source, "audit"), positions, on_source)
    wanted_copies = {
        (p, o): exact[p, o] for p in on_target if p.topic in stamped for o in positions[p] if (p, o) in exact
    }
    wanted: dict[TopicPartition, set[int]] = {}
    for (p, _), offset in wanted_copies.items():
        wanted.setdefault(p, set()).add(offset)
    copies = record_times(target, wanted, on_target)
    return unread | {each: copies[each[0], at] for each, at in wanted_copies.items() if (each[0], at) in copies}


def chosen_starts(run: Run, translated: Collection[TranslatedOffset]) -> list[TranslatedOffset]:
    """Move the groups whose owners chose another start than the exact offset; the others stay as they are."""
    policy = run.group.groups_policy
    choosing = [each for each in translated if policy.start_for(each.group) != "exact"]
    gathered = facts_of(run, {each.partition for each in choosing})
    timed: dict[TopicPartition, set[int]] = {}
    for each in choosing:
        if policy.start_for(each.group) == "timestamp":
            timed.setdefault(each.partition, set()).add(each.source_offset)
    exact = {
        (each.partition, each.source_offset): each.target_offset
        for each in choosing
        if each.kind == "exact" and each.target_offset is not None
    }
    young = by_time(run, gathered, timed, exact=exact)[1] if timed else {}
    moved = []
    for each in translated:
        choice = policy.start_for(each.group)
        if choice == "exact":
            moved.append(each)
            continue
        facts, as_young = gathered.partitions[each.partition], young.get((each.partition, each.source_offset))
        moved.append(start(choice, each, facts, by_time=as_young).of(each.group, each.partition))
    return moved


def by_time_of_the_unread(run: Run, translated: Collection[TranslatedOffset]) -> list[TranslatedOffset]:
    """Let offsets without a translation begin where the target is as young as their first unread record, less a margin.

    If the time of the first unread record is not known, the offset stays unknown.
    """
    unknown = [each for each in translated if each.target_offset is None]
    positions: dict[TopicPartition, set[int]] = {}
    for each in unknown:
        positions.setdefault(each.partition, set()).add(each.source_offset)
    young = by_time(run, facts_of(run, positions), positions, exact={})[1]
    return [
        replace(
            each,
            target_offset=young[each.partition, each.source_offset],
            kind="declared",
            skipped_at_most=None,
            reason=f"{each.reason}; by policy from the time of the first unread record on",
        )
        if each.target_offset is None and (each.partition, each.source_offset) in young
        else each
        for each in translated
    ]


def compared_with_checkpoints(run: Run, placed: Collection[TranslatedOffset]) -> dict[str, Any]:
    """Return what MirrorMaker's own checkpoints would have done to positions that were moved, as JSON.

    Nothing depends on it, so what cannot be looked up is reported and blocks nothing.
    """
    exact = [each for each in placed if each.target_offset is not None and each.kind == "exact"]
    try:
        known = facts_of(run, {each.partition for each in exact}).partitions
    except KafkaDrError as error:
        return {"mm2_redelivered_at_most": None, "mm2_not_known": str(error)}
    checkpoints = [with_checkpoint(each.source_offset, known[each.partition], each) for each in exact]
    again = [found.mirrormaker_again for found in checkpoints if found.mirrormaker is not None]
    return {
        "mm2_redelivered_at_most": None if None in again else sum(count for count in again if count is not None),
        "mm2_without_checkpoint": sum(found.mirrormaker is None for found in checkpoints),
    }


def checked_locally(run: Run, points: Collection[TranslatedPoint]) -> Check:
    """Compare the records before and after each translated offset on both clusters.

    A late one fails. One that no record near it confirms is unknown. Early ones are shown.
    """
    source, target = (run.clients.cluster(cluster, "audit") for cluster in (run.source, run.target))
    by_verdict: dict[str, list[str]] = {}
    for (partition, at), found in check_locally_on(source, target, points).items():
        said = f"{partition} {at.source}→{at.target}: {found.detail}"
        by_verdict.setdefault(found.verdict, []).append(said)
    counted = {verdict: len(sentences) for verdict, sentences in sorted(by_verdict.items())}
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counted.items()) or "no offset to check"
    for verdict, outcome in (("late", "failed"), ("unknown", "unknown")):
        if sentences := by_verdict.get(verdict):
            detail = f"{summary}: {'; '.join(sentences[:5])}"
            return Check("places_proven", outcome, detail, counted)  # type: ignore[arg-type]
    early = "; ".join(by_verdict.get("early", [])[:5])
    return Check("places_proven", "ok", f"{summary}: {early}" if early else summary, counted)
