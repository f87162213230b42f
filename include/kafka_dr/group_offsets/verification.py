"""How far the copy of a run is verified by content, and how sure each group's offset would be if it failed over now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr import parallel
from kafka_dr.audit.finding import Verified
from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets.committed_positions import read_positions
from kafka_dr.group_offsets.read_is_copied import wait_until_read_is_copied
from kafka_dr.group_offsets.recorded_frontier import RecordedFrontier, recorded_store
from kafka_dr.group_offsets.transfers import PositionTransfer, along_flow, transfers
from kafka_dr.group_offsets.translation_basis import ignored_ranges, keeping_basis_of, valid_seeds
from kafka_dr.offsets.plain_frontier import PlainFrontier
from kafka_dr.offsets.translate.answers import Kind, badness
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.local_check import TranslatedPoint, check_locally_on
from kafka_dr.offsets.translate.pipeline import translate_committed
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed, SeedPoint
from kafka_dr.register.flow_seed import newest
from kafka_dr.runs.run import Run


def frontier(run: Run) -> RecordedFrontier:
    """Return what verifies the copy by content; it continues where an earlier step or run stopped."""
    epoch, starts = _starts(run)
    store = recorded_store(run)
    plain = PlainFrontier(
        run.clients.cluster(run.source, "audit"),
        run.copies_by(run.flow, "audit"),
        store=store,
        starts=starts,
        epoch=epoch,
        ignored=ignored_ranges(run),
        proven=run.clients.proven_answers,
    )
    return RecordedFrontier(plain, store)


def matched(verified: Mapping[TopicPartition, Verified], ends: Mapping[TopicPartition, int], *, where: str) -> Check:
    """Return whether every record up to the ends was matched by content.

    :param where: the cluster with the copy
    """
    findings = [str(found.finding) for found in verified.values() if found.finding is not None]
    short = sorted(p for p, end in ends.items() if p not in verified or verified[p].source_offset < end)
    if findings or short:
        detail = "; ".join(findings[:3]) or f"not verified to the end: {', '.join(map(str, short[:5]))}"
        return Check("tail_matched", "failed", f"{where}: {detail}")
    said = f"every record of {len(ends)} partitions on {where} was matched by content{but_compacted(verified)}"
    return Check("tail_matched", "ok", said)


def but_compacted(verified: Mapping[TopicPartition, Verified]) -> str:
    """Say how many records only one cluster has because of compaction; empty if none were seen."""
    count = sum(found.compacted for found in verified.values())
    return f", but {count:,} that compaction removed from one of the clusters" if count else ""


@dataclass(frozen=True, slots=True)
class OffsetsNow:
    """What groups had committed on the source at one moment, and what is known of that without a verified frontier.

    :param ends: high watermarks of the source, asked after the committed offsets: a group that just read on is not
        taken for one past the end
    :param begins: where this direction began, or the log does; next to read on the source
    :param earlier: how sure the offsets before ``begins`` are, by group
    """

    committed: Committed
    ends: Mapping[TopicPartition, int]
    begins: Mapping[TopicPartition, int]
    earlier: Mapping[str, Kind]

    def past_the_end(self) -> dict[str, str]:
        """Return the groups with an offset that the log does not reach, each with what happened, in one sentence."""
        found: dict[str, str] = {}
        for group, offsets in sorted(self.committed.items()):
            for partition, offset in sorted(offsets.items()):
                if offset > self.ends[partition]:
                    found.setdefault(
                        group,
                        f"{group} has committed {offset} in {partition}, which ends at {self.ends[partition]}: the log "
                        "was cut after that commit, or the topic was made again",
                    )
        return found


def offsets_now(run: Run) -> OffsetsNow:
    """Read what groups have committed, and translate the offsets of an earlier direction.

    None of it needs the frontier, so it is read while the copy is verified.
    """
    # The check of all groups names one that cannot be read. It does not keep the others from being judged.
    committed, _ = read_positions(run)
    partitions = {p for offsets in committed.values() for p in offsets}
    topics, starts = run.operator(run.source).topics, _starts(run)[1]
    ends, log_starts = parallel.at_once(
        lambda: topics.high_watermarks(partitions), lambda: topics.log_starts(partitions)
    )
    begins = {p: max(starts[p].source if p in starts else 0, log_starts[p]) for p in partitions}
    earlier = _those(committed, lambda p, offset: offset < begins[p])
    return OffsetsNow(committed, ends, begins, _translated_kinds(run, earlier, along_flow(run)))


def predicted_classes(run: Run, verified: Mapping[TopicPartition, Verified], now: OffsetsNow) -> dict[str, Kind]:
    """Return how sure each group's offset would be if the failover were now: the worst of its partitions.

    From where the direction began up to the frontier every record was matched one by one, so an offset there has
    exactly one translation; the drain matches what is after the frontier before it is needed. Offsets before that, of
    an earlier direction, were translated with :func:`offsets_now`. Translated now is what no frontier covers, and what
    is before the frontier in a partition of which the target has deleted records, because a group may not have read
    those yet.
    """
    deleted = run.copies_by(run.flow).topics.log_starts(now.ends.keys() & verified.keys())

    def is_left(partition: TopicPartition, offset: int) -> bool:
        found = verified.get(partition)
        matched = found is not None and matched_for(offset, found, deleted=deleted[partition])
        return offset >= now.begins[partition] and not matched

    classes: dict[str, Kind] = {group: "exact" for group, offsets in sorted(now.committed.items()) if offsets}
    policy = run.group.groups_policy
    classes |= dict.fromkeys(now.past_the_end(), "unknown")
    left = _translated_kinds(run, _those(now.committed, is_left), along_flow(run))
    for kinds in (now.earlier, left, *(_kinds_of(run, each) for each in transfers(run) if not each.follows_flow)):
        for group, kind in kinds.items():
            classes[group] = max(classes.get(group, "exact"), kind, key=badness)
    for group in classes:
        if (chosen := policy.start_for(group)) != "exact":
            # What it costs depends on the moment; that its owners chose it is what is approved.
            classes[group] = "bounded" if chosen == "earliest" else "declared"
        elif classes[group] == "unknown" and policy.unknown_offsets == "at_time":
            classes[group] = "declared"
    return classes


def _those(committed: Committed, are_wanted: Callable[[TopicPartition, int], bool]) -> Committed:
    return {g: {p: o for p, o in offsets.items() if are_wanted(p, o)} for g, offsets in committed.items()}


def _kinds_of(run: Run, transfer: PositionTransfer) -> dict[str, Kind]:
    """Return how sure the worst offset of each group is that is not committed in a topic which the flow copies.

    As in the failover, it is waited until the target holds what was read.
    """
    committed, _ = read_positions(run, transfer)
    wait_until_read_is_copied(run, {transfer: committed})
    return _translated_kinds(run, committed, transfer)


def _translated_kinds(run: Run, committed: Committed, transfer: PositionTransfer) -> dict[str, Kind]:
    """Translate offsets, and return how sure the worst of each group is."""
    kinds: dict[str, Kind] = {}
    if any(committed.values()):
        for found in translate_committed(keeping_basis_of(run, transfer), committed):
            kinds[found.group] = max(kinds.get(found.group, "exact"), found.kind, key=badness)
    return kinds


def matched_for(offset: int, verified: Verified, *, deleted: int) -> bool:
    """Return whether the records after an offset of this direction are matched, or will be by the drain.

    :param offset: next to read, on the source
    :param deleted: the log start of the target: a group may not have read the records below it yet. After the frontier
        that does not matter, because everything there is on the target or still to come
    """
    if verified.finding is not None:
        return False
    return deleted == 0 or (offset >= verified.source_offset and verified.target_offset >= deleted)


def checked_locally(basis: TranslationBasis, points: Collection[TranslatedPoint]) -> Check:
    """Compare the records before and after each translated offset on both clusters.

    A late one fails. One that no record near it confirms is unknown. Early ones are shown.
    """
    by_verdict: dict[str, list[str]] = {}
    for (partition, at), found in check_locally_on(basis.source, basis.target, points, basis.ignored).items():
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


def to_json(verified: Mapping[TopicPartition, Verified]) -> list[list[Any]]:
    """Return the frontier as JSON: ``[topic, partition, source offset, target offset]``, next to read."""
    return [[p.topic, p.partition, found.source_offset, found.target_offset] for p, found in sorted(verified.items())]


def _starts(run: Run) -> tuple[int, dict[TopicPartition, SeedPoint]]:
    """Return the epoch in which the present direction began, and where; 0 and nothing if it was always this one."""
    seed = newest(seed for seed in valid_seeds(run) if seed.source == run.source)
    return (seed.epoch, seed.points) if seed else (0, {})
