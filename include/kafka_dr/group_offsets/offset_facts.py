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
from kafka_dr.offsets.preview import SourceOffset
from kafka_dr.offsets.translate.choice import start, with_checkpoint
from kafka_dr.offsets.translate.facts import GatheredFacts, gather
from kafka_dr.offsets.translate.local_check import TranslatedPoint, check_locally_on
from kafka_dr.offsets.translate.read_logs import record_times
from kafka_dr.outcomes import Check
from kafka_dr.parallel import ask_each
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run

_AT_ONCE = 16
Committed = dict[str, dict[TopicPartition, int]]


def read_positions(run: Run) -> tuple[Committed, tuple[str, ...]]:
    """Read what the group's consumer groups have committed on the source.

    :returns: by group, and a sentence for each group that could not be read: it is named, and never left out in silence
    """
    source = run.operator(run.source)
    found: Committed = {}
    problems: list[str] = []

    def read(group: str) -> dict[TopicPartition, int]:
        return source.groups.offsets([group], require_stable=False)[group]

    for group, answer in ask_each(read, groups_to_move(run, run.source), at_most=_AT_ONCE).items():
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


def sync_lookup(run: Run) -> SyncLookup:
    """Return what offset syncs say between this run's clusters, from the archive and the newest of both topics."""
    topology = run.clients.topology
    return SyncLookup(
        run.clients.cluster(run.source, "audit"),
        run.clients.cluster(run.target, "audit"),
        root=run.evidence_root,
        cluster_ids=(topology.cluster(run.source).cluster_id, topology.cluster(run.target).cluster_id),
    )


def facts_of(run: Run, partitions: Collection[TopicPartition]) -> GatheredFacts:
    """Gather what is known about partitions of the group, without reading a record of them."""
    return gather(
        run.clients.cluster(run.source, "audit"),
        run.clients.cluster(run.target, "audit"),
        partitions,
        syncs=sync_lookup(run),
        maps=map_store(run),
    )


def map_store(run: Run) -> MapStore:
    """Return the offset maps that audits keep of this run's clusters."""
    ids = run.clients.topology.cluster
    return MapStore(
        run.evidence_root,
        run.group.name,
        source=(run.source, ids(run.source).cluster_id),
        target=(run.target, ids(run.target).cluster_id),
    )


def by_time(
    run: Run,
    gathered: GatheredFacts,
    positions: Mapping[TopicPartition, Collection[int]],
    *,
    exact: Mapping[SourceOffset, int],
) -> tuple[dict[SourceOffset, int], dict[SourceOffset, int]]:
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
    young: dict[SourceOffset, int] = {}
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
    exact: Mapping[SourceOffset, int],
) -> dict[SourceOffset, int]:
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
    chosen = {id(each): _moved(run, each, gathered, young) for each in choosing}
    return [chosen.get(id(each), each) for each in translated]


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


def _moved(
    run: Run, each: TranslatedOffset, gathered: GatheredFacts, young: Mapping[SourceOffset, int]
) -> TranslatedOffset:
    facts = gathered.partitions[each.partition]
    chosen = start(
        run.group.groups_policy.start_for(each.group),
        with_checkpoint(each.source_offset, facts, each),
        facts,
        by_time=young.get((each.partition, each.source_offset)),
    )
    return chosen.of(each.group, each.partition)


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
