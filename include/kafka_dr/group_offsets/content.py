"""What content proves about a run: how far the copy is verified, and where each group's position lies on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.audit import FileFrontierStore, Frontier, Verified
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.group_offsets.offset_facts import (
    chosen_starts,
    facts_of,
    from_the_time_of_the_unread,
    known_syncs,
    read_positions,
)
from kafka_dr.offsets import (
    Aside,
    AuditedPairs,
    BracketingOffsetMap,
    FilePairStore,
    Kind,
    OffsetMap,
    PlainFrontier,
    TranslatedOffset,
    badness,
    starts_of_empty,
    translate_groups,
)
from kafka_dr.offsets.translate.by_facts import FactsMap
from kafka_dr.offsets.translate.pipeline import LayeredOffsetMap
from kafka_dr.positions import SeedPoint
from kafka_dr.register.quarantine import QUARANTINE, QuarantinedRange, by_partition, quarantined
from kafka_dr.runs.offset_rows import positions_from_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

#: Positions that are compared by content at once, without asking first what audits know of them.
_FEW_PLACES = 1_000


def seeds(run: Run) -> dict[TopicPartition, list[SeedPoint]]:
    """Return every place where a direction began, seen from this run's source; journaled by earlier switches."""
    found: dict[TopicPartition, list[SeedPoint]] = {}
    for seed in _journaled_seeds(run):
        here, there = positions_from_json(seed["source_positions"]), positions_from_json(seed["target_positions"])
        if seed["source"] != run.source:
            here, there = there, here
        for partition in here.keys() & there.keys():
            found.setdefault(partition, []).append(SeedPoint(here[partition], there[partition]))
    return found


def offset_map(run: Run, *, aside: tuple[Aside, Aside] | None = None) -> OffsetMap:
    """Return what translates positions from source to target.

    :param aside: what :func:`stays_aside` found a moment ago; it is looked for where ``None``
    """
    known = seeds(run)
    remembered = _frontier_store(run).read(f"{run.source}-to-{run.target}")
    # What was verified of a side that was copied again since says nothing about what is there now.
    stands = remembered is not None and remembered.identity[2] >= _last_rebuild(run)
    for (topic, number), place in (remembered.points if remembered and stands else {}).items():
        reached = SeedPoint(place.source_offset, place.target_offset)
        known.setdefault(TopicPartition(topic, number), []).append(reached)
    return BracketingOffsetMap(
        run.clients.cluster(run.source, "audit"),
        run.clients.cluster(run.target, "audit"),
        seeds=known,
        store=FilePairStore(run.clients.evidence_root, run.group.name),
        syncs=known_syncs(run),
        audited=AuditedPairs(
            run.clients.evidence_root,
            run.group.name,
            source=(run.source, run.clients.topology.cluster(run.source).cluster_id),
            target=(run.target, run.clients.topology.cluster(run.target).cluster_id),
        ),
        aside=stays_aside(run) if aside is None else aside,
    )


def stays_aside(run: Run) -> tuple[Aside, Aside]:
    """Return what failbacks have left aside on source and target: it is nobody's copy and has no copy."""
    if not any(QUARANTINE in facts for facts in run.history.values()):
        return {}, {}
    here, there = (
        {
            p: [OffsetRange(each.start, each.end) for each in found]
            for p, found in by_partition(quarantined_on(run, cluster)).items()
        }
        for cluster in (run.source, run.target)
    )
    return here, there


def quarantined_on(run: Run, cluster: str) -> tuple[QuarantinedRange, ...]:
    """Return what stays aside on a cluster, of the topics that are there now."""
    return quarantined(run.history, cluster, {name: topic.topic_id for name, topic in run.topics(cluster).items()})


def _last_rebuild(run: Run) -> int:
    """Return the epoch in which one of this run's clusters was last copied again from nothing; 0 where none was."""
    rebuilds = (facts["rebuild"] for facts in run.history.values() if "rebuild" in facts)
    return max((int(each["epoch"]) for each in rebuilds if each["cluster"] in (run.source, run.target)), default=0)


def frontier(run: Run) -> Frontier:
    """Return what verifies the copy by content; it goes on where an earlier step or run left off."""
    epoch, starts = _starts(run)
    return PlainFrontier(
        run.clients.cluster(run.source, "audit"),
        run.clients.cluster(run.target, "audit"),
        store=_frontier_store(run),
        starts=starts,
        epoch=epoch,
        aside=stays_aside(run),
    )


def matched(verified: Mapping[TopicPartition, Verified], ends: Mapping[TopicPartition, int], *, where: str) -> Check:
    """Return whether every record up to the ends was matched by content."""
    findings = [str(found.finding) for found in verified.values() if found.finding is not None]
    short = sorted(p for p, end in ends.items() if p not in verified or verified[p].source_offset < end)
    if findings or short:
        detail = "; ".join(findings[:3]) or f"not verified to the end: {', '.join(map(str, short[:5]))}"
        return Check("tail_matched", "failed", f"{where}: {detail}")
    return Check("tail_matched", "ok", f"every record of {len(ends)} partitions on {where} was matched by content")


def translate(run: Run, committed: Mapping[str, Mapping[TopicPartition, int]]) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source; by policy an unknown position becomes another start.

    Groups whose owners chose another start than the exact place get that.
    """
    found = chosen_starts(run, translated(run, committed))
    policy = run.group.groups_policy.unknown_offsets
    if policy == "timestamp":
        return list(from_the_time_of_the_unread(run, found))
    if policy == "refuse":
        return list(found)
    held = _held(run, {t.partition for t in found if t.target_offset is None})
    return [t if t.target_offset is not None else _from_the_start(t, held[t.partition]) for t in found]


def translated(run: Run, committed: Mapping[str, Mapping[TopicPartition, int]]) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, past what stays aside on the target."""
    aside = stays_aside(run)
    starts = run.operator(run.target).topics.log_starts(aside[1])
    there = {p: [each for each in found if each.end > starts[p]] for p, found in aside[1].items()}
    return [_past(t, there.get(t.partition, ())) for t in translate_groups(_map_for(run, committed, aside), committed)]


def _past(position: TranslatedOffset, aside: Sequence[OffsetRange]) -> TranslatedOffset:
    """Pass over what stays aside: where the group's last record lies before it, its next one lies behind it.

    A group that has not come so far would read what never crossed, which nobody may decide for it.
    """
    for each in aside:
        if position.target_offset is None:
            return position
        where = f"{position.reason}; offsets {each.start} to {each.end} there stay aside"
        if position.target_offset < each.start:
            return replace(position, target_offset=None, kind="unknown", redelivered_at_most=None, reason=where)
        if position.target_offset < each.end:
            position = replace(position, target_offset=each.end, reason=where)
    return position


def never_read(run: Run, committed: Mapping[str, Mapping[TopicPartition, int]]) -> list[TranslatedOffset]:
    """Return the start of each partition without any record to which a group of its topic never committed."""
    here, there = (positions_from_json(run.fact(name)["ends"]) for name in ("source_ends", "target_ends"))
    return list(starts_of_empty(committed, {p for p, end in here.items() if end == 0 == there.get(p)}))


def stale_positions(run: Run, committed: Mapping[str, Mapping[TopicPartition, int]]) -> list[TranslatedOffset]:
    """Return positions that only the target has, left by an earlier time there: they go to the start of their log.

    Left as they are they could lie past records that the group has not seen.
    """
    target = run.operator(run.target)
    kept = target.groups.offsets(run.moved_groups(run.target))
    stale = [
        (group, partition)
        for group, offsets in kept.items()
        for partition in offsets
        if run.group.owns_topic(partition.topic) and partition not in committed.get(group, {})
    ]
    held = _held(run, {partition for _, partition in stale})
    reason = "committed on the target only, by an earlier time there"
    return [TranslatedOffset(group, p, 0, held[p].start, "bounded", len(held[p]), reason) for group, p in sorted(stale)]


def predicted_classes(run: Run, verified: Mapping[TopicPartition, Verified]) -> dict[str, Kind]:
    """Return how sure each group's position would be if the switch were now: the worst of its partitions.

    From where the direction began up to the frontier every record was matched one by one, so a position there has
    exactly one place on the target; one behind the frontier is matched by the drain before it matters. What lies
    before, in the time of an earlier direction, is translated; so is what lies before the frontier in a partition of
    which the target has deleted something, as a group may not have read that yet.
    """
    # A group that cannot be read is named by the look at all of them; it keeps nobody from judging the others.
    committed, _ = read_positions(run)
    partitions = {p for offsets in committed.values() for p in offsets}
    # Asked after the positions: a group that just read on is not taken for one that lies past the end.
    topics = run.operator(run.source).topics
    ends, log_starts, starts = topics.high_watermarks(partitions), topics.log_starts(partitions), _starts(run)[1]
    deleted = run.operator(run.target).topics.log_starts(partitions & verified.keys())

    def is_matched(partition: TopicPartition, offset: int) -> bool:
        begins = max(starts[partition].source if partition in starts else 0, log_starts[partition])
        found = verified.get(partition)
        return found is not None and offset >= begins and matched_for(offset, found, deleted=deleted[partition])

    classes: dict[str, Kind] = {group: "exact" for group, offsets in sorted(committed.items()) if offsets}
    policy = run.group.groups_policy
    for group, offsets in committed.items():
        if any(offset > ends[p] for p, offset in offsets.items()):
            classes[group] = "unknown"
    before = {g: {p: o for p, o in offsets.items() if not is_matched(p, o)} for g, offsets in committed.items()}
    if any(before.values()):
        for found in translated(run, before):
            classes[found.group] = max(classes[found.group], found.kind, key=badness)
    for group in classes:
        if (chosen := policy.start_for(group)) != "exact":
            # What it costs depends on the moment; that its owners chose it is what is approved.
            classes[group] = "bounded" if chosen == "earliest" else "declared"
    return classes


def matched_for(offset: int, verified: Verified, *, deleted: int) -> bool:
    """Return whether what follows a position of this direction is matched, or will be by the drain.

    :param offset: next to read, on the source
    :param deleted: the start of the target's log: what lies below it a group may not have read yet, unless it is past
        the frontier, as all that follows is on the target or still to come
    """
    if verified.finding is not None:
        return False
    return deleted == 0 or (offset >= verified.source_offset and verified.target_offset >= deleted)


def _map_for(run: Run, committed: Mapping[str, Mapping[TopicPartition, int]], aside: tuple[Aside, Aside]) -> OffsetMap:
    """Return what translates so many positions soonest: a few are read; of many, audits have settled most before."""
    places = {place for offsets in committed.values() for place in offsets.items()}
    if len(places) <= _FEW_PLACES:
        return offset_map(run, aside=aside)
    known = facts_of(run, {partition for partition, _ in places})
    return LayeredOffsetMap(FactsMap(known.partitions), offset_map(run, aside=aside))


def proofs_said(placed: Collection[TranslatedOffset]) -> str:
    """Say what the records around each position show, as counts."""
    counted = Counter(position.proof for position in placed)
    words = {
        "right": "go on at the first unread record",
        "early": "before it, so that records come again",
        "unknown": "cannot be told by the records around them",
    }
    said = [f"{counted[verdict]} {words}" for verdict, words in words.items() if counted[verdict]]  # type: ignore[index]
    return "no position lies past an unread record: " + (", ".join(said) or "none was moved")


def classes(placed: Collection[TranslatedOffset]) -> dict[str, int]:
    """Count positions by how sure they are."""
    return dict(Counter(position.kind for position in placed))


def facts(verified: Mapping[TopicPartition, Verified]) -> list[list[Any]]:
    """Return verified places as JSON: ``[topic, partition, source offset, target offset]``, next to read."""
    return [[p.topic, p.partition, found.source_offset, found.target_offset] for p, found in sorted(verified.items())]


def placed_to_json(position: TranslatedOffset) -> dict[str, Any]:
    """Return a group's position as JSON."""
    return {
        "group": position.group,
        "topic": position.partition.topic,
        "partition": position.partition.partition,
        "source_offset": position.source_offset,
        "target_offset": position.target_offset,
        "class": position.kind,
        "redelivered_at_most": position.redelivered_at_most,
        "reason": position.reason,
        "skipped_at_most": position.skipped_at_most,
        "proof": position.proof,
    }


def placed_from_json(rows: Sequence[Mapping[str, Any]]) -> list[TranslatedOffset]:
    """Read what :func:`placed_to_json` wrote."""
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


def _frontier_store(run: Run) -> FileFrontierStore:
    return FileFrontierStore(run.clients.evidence_root, run.group.name)


def _held(run: Run, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    topics = run.operator(run.target).topics
    starts, ends = topics.log_starts(partitions), topics.high_watermarks(partitions)
    return {p: OffsetRange(starts[p], ends[p]) for p in partitions}


def _from_the_start(position: TranslatedOffset, held: OffsetRange) -> TranslatedOffset:
    """Where the target has deleted records, nobody knows whether the group had read them all."""
    return replace(
        position,
        target_offset=held.start,
        kind="declared" if held.start else "bounded",
        redelivered_at_most=len(held),
        skipped_at_most=None if held.start else 0,
        reason=f"{position.reason}; by policy from the earliest record on",
    )


def _starts(run: Run) -> tuple[int, dict[TopicPartition, SeedPoint]]:
    """Return the epoch in which the present direction began, and where; 0 and nothing where it always was this one."""
    of_direction = (seed for seed in _journaled_seeds(run) if seed["source"] == run.source)
    newest = max(of_direction, key=lambda seed: int(seed["epoch"]), default=None)
    if newest is None:
        return 0, {}
    here, there = positions_from_json(newest["source_positions"]), positions_from_json(newest["target_positions"])
    return int(newest["epoch"]), {p: SeedPoint(here[p], there[p]) for p in here.keys() & there.keys()}


def _journaled_seeds(run: Run) -> list[dict[str, Any]]:
    """Return the seeds between this run's two clusters."""
    found = [facts["flow_seed"] for facts in run.history.values() if "flow_seed" in facts]
    between = [seed for seed in found if {seed["source"], seed["target"]} == {run.source, run.target}]
    # Where a side was copied again, what was known of the topics that were there before ends.
    rebuilt = _last_rebuild(run)
    return [seed for seed in between if int(seed["epoch"]) >= rebuilt]
