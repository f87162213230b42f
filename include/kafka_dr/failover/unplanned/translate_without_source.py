"""Where each group resumes on the target, from what is known there alone; never past an unread record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.failover.unplanned import last_known
from kafka_dr.failover.unplanned.fetch_writing import ledger_of
from kafka_dr.failover.unplanned.last_known import KnownOffsets
from kafka_dr.group_offsets import commit_metadata
from kafka_dr.group_offsets.sync_archive import archive_of
from kafka_dr.group_offsets.taken_over_copies import taken_over_copies
from kafka_dr.group_offsets.transfers import along_flow
from kafka_dr.group_offsets.translation_basis import seeds, valid_seeds
from kafka_dr.offsets.syncs.archive import archived_and_newer
from kafka_dr.offsets.syncs.history import since as since_hole
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.answers import TranslatedOffset, translations_from_json
from kafka_dr.offsets.translate.by_donor import FetchedRange
from kafka_dr.offsets.translate.by_time import first_at
from kafka_dr.offsets.translate.choice import start
from kafka_dr.offsets.translate.facts import PartitionFacts
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.offsets.translate.taken_over_copy import TakenOverCopy
from kafka_dr.offsets.translate.without_source import KnownPoints, translate_by_known_points
from kafka_dr.positions import SeedPoint
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long a standby from which records were fetched may take to say what its flow has synced, in seconds.
_DONOR_SECONDS = 4.0
Points = dict[TopicPartition, list[SeedPoint]]


def translate(run: Run, reached: CopyReached, positions: KnownOffsets | None = None) -> list[TranslatedOffset]:
    """Translate every known offset; the partitions have the names that the target has for them.

    :param reached: how far the target's copy has come
    :param positions: committed offsets on the source; ``None``: the last known ones
    """
    positions = positions or last_known.positions(run)
    if (earlier := _of_earlier_run(run, positions)) is not None:
        return earlier
    copies, on_target = run.copies_by(run.flow), set(run.copied_by(run.flow))
    wanted = {p for offsets in positions.groups.values() for p in offsets if p in on_target}
    held = held_by(copies, wanted)
    points, begun = _points(run, wanted, run.target), seeds(run)
    for p in wanted:
        points.setdefault(p, []).extend(reached.points(p, held[p].end))
    others = taken_over_copies(run, valid_seeds(run))
    # The target may hold quarantined records below a seed, which must not be counted.
    found = {p: _known(points.get(p, ()), held[p], begun.get(p, ()), others.get(p)) for p in wanted}
    counter = _RecordCounter(run.copies_by(run.flow, "audit"))
    fetched = _fetched(run, {p: held[p] for p in wanted & reached.before.keys()})

    at_time = first_at(copies, held, run.group.groups_policy.start_time)
    exact: dict[tuple[str, TopicPartition], int | None] = {}

    def answer(group: str, p: TopicPartition, offset: int) -> TranslatedOffset:
        placed = _placed(group, p, offset, found[p], counter, fetched.get(p))
        if placed.kind == "exact":
            exact[group, p] = placed.target_offset
        placed = placed if positions.final else _as_seen_last(placed, found[p].held.end, positions)
        return _as_chosen(run, _counted(placed, others.get(p), held[p]), held[p], at_time.get(p))

    translated = [
        answer(group, p, offset)
        for group, offsets in sorted(positions.groups.items())
        for p, offset in sorted(offsets.items())
        if p in on_target
    ]
    carried = commit_metadata.carry_without_source(run, translated, positions.groups, exact=exact, ends=positions.ends)
    return [replace(each, partition=along_flow(run).at_target(each.partition)) for each in carried]


def _known(
    points: Sequence[SeedPoint], held: OffsetRange, begun: Sequence[SeedPoint], other: TakenOverCopy | None
) -> KnownPoints:
    """Return what is known of a partition; of what another replication copied, only what a take over has journaled."""
    if other is None:
        return KnownPoints.of(points, held, not_counted=begun)
    above = [point for point in points if point.source > other.until.source]
    return KnownPoints.of([*other.certain, *above], held, not_counted=begun, counted_from=other.until.source)


def _counted(placed: TranslatedOffset, other: TakenOverCopy | None, held: OffsetRange) -> TranslatedOffset:
    """Return what is after no unread record, and counts what another replication copied twice or in another order."""
    return placed if other is None else other.counted(other.not_late(placed), held.end)


def _of_earlier_run(run: Run, positions: KnownOffsets) -> list[TranslatedOffset] | None:
    """Return the offsets that the run translated by content from which this run took the group; ``None`` if none."""
    earlier = last_known.taken_over(run)
    fact = earlier.get("translations")
    # That run may have gone to another standby.
    if fact is None or positions.final or earlier.get("claim", {}).get("target") != run.target:
        return None
    placed = [p for p in translations_from_json(fact) if p.group in positions.groups]
    ends = run.operator(run.target).topics.last_stable_offsets({p.partition for p in placed})
    return [_as_seen_last(position, ends[position.partition], positions) for position in placed]


class _RecordCounter:
    """Reads each range of the target once, and keeps the offsets of its records."""

    def __init__(self, target: FlowCluster) -> None:
        self._target = target
        self._read: dict[tuple[TopicPartition, OffsetRange], list[int]] = {}

    def records(self, partition: TopicPartition, stretch: OffsetRange) -> Sequence[int]:
        key = (partition, stretch)
        if key not in self._read:
            self._read[key] = [record.offset for record in self._target.log.read({partition: stretch}, stall_seconds=3)]
        return self._read[key]


def _placed(
    group: str,
    partition: TopicPartition,
    offset: int,
    found: KnownPoints,
    counter: _RecordCounter,
    fetched: FetchedRange | None,
) -> TranslatedOffset:
    stretch = found.to_count(offset)
    records = None if stretch is None else counter.records(partition, stretch)
    direct = translate_by_known_points(offset, found, records)
    best = fetched.better(direct, partial(counter.records, partition)) if fetched else direct
    return best.of(group, partition)


def _fetched(run: Run, held: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, FetchedRange]:
    """Return what is known of the partitions of which records were fetched; less if their donor does not answer.

    :param held: what the target holds of them
    """
    ledger = {p: entry for p, entry in ledger_of(run).items() if p in held} if held else {}
    donors = {entry.donor for entry in ledger.values()}
    asked = {name: partial(_points, run, {p for p, e in ledger.items() if e.donor == name}, name) for name in donors}
    pairs = background.answers_within(asked, seconds=_DONOR_SECONDS)
    found = {}
    for p, entry in ledger.items():
        # Once nothing is fetched any more, the log of the target ends with what was fetched last.
        steps = (*entry.steps, SeedPoint(entry.next_offset, held[p].end))
        if isinstance(known := pairs[entry.donor], dict):
            found[p] = FetchedRange.of(entry.donor, entry.position, known.get(p, ()), steps, held[p])
    return found


def _as_chosen(run: Run, placed: TranslatedOffset, held: OffsetRange, at_time: int | None) -> TranslatedOffset:
    """Begin where the group's owners chose; a choice that needs the source cannot be followed."""
    choice = run.group.groups_policy.start_for(placed.group)
    if choice == "exact":
        return placed
    if choice not in last_known.CHOSEN:
        said = f"{placed.reason}; its owners chose {choice}, which cannot be found without {run.source}"
        return replace(placed, reason=said)
    chosen = start(choice, placed, PartitionFacts(None, held), at_time=at_time)
    return chosen.of(placed.group, placed.partition)


def _as_seen_last(placed: TranslatedOffset, end: int, positions: KnownOffsets) -> TranslatedOffset:
    """The group may have read further since it was seen: at most everything after its offset is read again."""
    again = end - (placed.target_offset or 0)
    if again == 0:
        return replace(placed, kind="exact", redelivered_at_most=0, reason="the group had read every copied record")
    at = f"{positions.at:%Y-%m-%d %H:%M:%S} UTC" if positions.at else "an unknown time"
    return replace(placed, kind="bounded", redelivered_at_most=again, reason=f"as seen at {at}; {placed.reason}")


def _points(run: Run, wanted: set[TopicPartition], standby: str) -> Points:
    """Collect every known pair of offsets; a point that may be about a deleted topic of the same name is left out.

    :param standby: the target, or another standby from which something was fetched
    """
    points: Points = {}
    described = run.copies_by(replace(run.flow, target=standby)).topics.describe({p.topic for p in wanted})
    ids = {name: topic.topic_id for name, topic in described.items()}
    for p, point in (*_compared(run, ids, standby), *_synced(run, ids, standby)):
        if p in wanted:
            points.setdefault(p, []).append(point)
    return points


def _compared(run: Run, now: Mapping[str, str], standby: str) -> Iterator[tuple[TopicPartition, SeedPoint]]:
    """Yield the pairs that a comparison by content has confirmed, for topics with the same ids as now.

    :param now: ids of the topics on the standby, by name
    """
    kept = last_known.frontier(run, standby)
    if kept is None:
        return
    same = {topic: ids for topic, ids in kept.topic_ids.items() if now.get(topic) == ids[1]}
    for (topic, number), place in kept.points.items():
        if topic in same:
            yield TopicPartition(topic, number), SeedPoint(place.source_offset, place.target_offset)
    remembered = AnchorCache(run.evidence_root, run.group.name).read(f"{run.source}-to-{standby}")
    for (topic, number), found in remembered.offsets.items():
        if topic in same and remembered.topic_ids.get(topic) == same[topic]:
            for offsets in found:
                yield from ((TopicPartition(topic, number), point) for point in _around_record(*offsets))


def _synced(run: Run, same: Mapping[str, str], standby: str) -> Iterator[tuple[TopicPartition, SeedPoint]]:
    """Yield the pairs of the flow's offset syncs since the flow began, from the archive and from their topic.

    That topic is compacted. For a group that is far behind, only the archive has a pair near its offset.

    :param same: ids of the topics on the standby now, by name; syncs of topics with other ids are left out
    """
    since = last_known.flow_start(run, standby).since
    since_ms = int(since.timestamp() * 1000) if since else 0
    found = archived_and_newer(
        archive_of(run.source, standby, run.clients, root=run.evidence_root),
        {topic: ("", topic_id) for topic, topic_id in same.items()},
        target=run.clients.cluster(standby, "audit"),
    )
    for p, syncs in found.syncs.items():
        written = [sync for sync in syncs if sync.synced_ms >= since_ms]
        for sync in since_hole(written, found.after_hole).pairs:
            yield from ((p, point) for point in _around_record(sync.source, sync.target))


def _around_record(source: int, target: int) -> tuple[SeedPoint, SeedPoint]:
    """A record that is on both clusters gives a point before it and one after it."""
    return SeedPoint(source, target), SeedPoint(source + 1, target + 1)
