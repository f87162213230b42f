"""The verified frontier while applications still write: what is equal, what differs, and what is not copied yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kafka_dr.audit.circumstances import may_still_come
from kafka_dr.audit.copies import STAMPING, stamped_topics, times_lost
from kafka_dr.audit.finding import FindingKind, Frontier, Verified
from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.held_back import HeldBackLook
from kafka_dr.counted import counted
from kafka_dr.group_offsets import verification
from kafka_dr.outcomes import Check
from kafka_dr.replication.flow import FlowNotFound
from kafka_dr.runs.members import to_be_copied
from kafka_dr.runs.run import Run
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: How long copying may take before a record that was just written counts as not copied yet.
ARRIVAL_SECONDS = 2.0
T = TypeVar("T")
Ends = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Reached:
    """How far copying was before the logs were compared.

    :param positions: next to be copied, by source partition; a partition that is not in it has copied nothing
    :param target_ends: the target's high watermarks, asked after the positions
    """

    positions: Ends
    target_ends: Ends


@dataclass(frozen=True, slots=True)
class NearHead:
    """The verified frontier, compared with the source's ends of a moment ago.

    :param ends: those ends, next to read
    :param verified: by partition; what is not copied yet is no finding
    :param not_copied_yet: source offsets that were still to be copied, or still hidden on the target, by partition
    :param held: what open transactions on the source keep from being copied, after those ends
    """

    ends: Ends
    verified: Mapping[TopicPartition, Verified]
    not_copied_yet: Mapping[TopicPartition, int] = field(default_factory=dict)
    held: HeldBackLook = field(default_factory=HeldBackLook)


def advance(run: Run) -> NearHead:
    """Verify up to the source's ends of this moment, as far as the flow gets there within a short time."""
    held = run.operator(run.source).held_back.look(to_be_copied(run))
    near = look(held.stable, verification.frontier(run), lambda short: _reached(run, short), clock=run.clock)
    return replace(near, held=held)


def look(
    ends: Ends, frontier: Frontier, reached: Callable[[Collection[TopicPartition]], Reached], *, clock: Clock
) -> NearHead:
    """Compare until everything up to the ends is found, or the time for that is over.

    If records are missing, the flow is asked first and both logs are compared again afterwards, so that a record that
    is copied meanwhile is not taken for lost. If nothing is missing, the flow need not be asked. Its answer takes
    longer than a second comparison, in whose time nearly all that was just written is copied.

    :param reached: asks how far the copying of these partitions is
    """
    verified = frontier.advance(ends)
    if _missing(verified):
        verified = frontier.advance(ends)
    if not _missing(verified):
        return NearHead(ends, verified)

    def compare_again() -> tuple[Mapping[TopicPartition, Verified], Reached]:
        nonlocal verified
        then = reached(_missing(verified))
        verified = frontier.advance(ends)
        return verified, then

    verified, then = wait_until(
        compare_again,
        lambda found: not _missing(found[0]),
        clock=clock,
        seconds=ARRIVAL_SECONDS,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )
    return _judged(ends, verified, then)


def _judged(ends: Ends, verified: Mapping[TopicPartition, Verified], then: Reached) -> NearHead:
    """Return what was seen, without the findings about records that may still come."""
    judged, still_to_come = dict(verified), {}
    for partition in _missing(verified):
        found = verified[partition]
        if found.finding is None:
            continue
        passed = then.positions.get(partition, 0)
        hidden = then.target_ends.get(partition, 0) > found.finding.target_offset
        if may_still_come(found.finding.source_offset, passed=passed, hidden=hidden):
            judged[partition] = replace(found, finding=None)
            still_to_come[partition] = ends[partition] - found.finding.source_offset
    return NearHead(ends, judged, still_to_come)


def _missing(verified: Mapping[TopicPartition, Verified]) -> set[TopicPartition]:
    """Return the partitions whose copy ends before the source's."""
    return {p for p, found in verified.items() if found.finding and found.finding.kind is FindingKind.MISSING}


def _reached(run: Run, partitions: Collection[TopicPartition]) -> Reached:
    """Ask the flow, then the target; a flow that does not exist has copied nothing, and all is still to come."""
    try:
        positions = run.clients.replicator(run.flow).positions()
    except FlowNotFound:
        positions = {}
    on_target = set(run.copied_by(run.flow))
    return Reached(positions, run.copies_by(run.flow).topics.high_watermarks(on_target & set(partitions)))


def still_missing(ask: Callable[[], list[T]], *, clock: Clock, seconds: float) -> list[T]:
    """Ask what is missing until nothing is, or the time is over; return what is missing then.

    :param seconds: :data:`ARRIVAL_SECONDS` if records may still be copied; 0 asks once
    """
    return wait_until(ask, lambda missing: not missing, clock=clock, seconds=seconds)


def tail(run: Run) -> Check:
    """Verify near to the head, and judge what is left; see :func:`judge_tail`."""
    return judge_tail(run, advance(run))


def judge_tail(run: Run, near: NearHead) -> Check:
    """Return whether little enough is left to be verified inside the outage, and all before it is equal."""
    findings = [found.finding for found in near.verified.values() if found.finding is not None]
    if findings:
        return Check("content_verified", "failed", "; ".join(str(finding) for finding in findings[:3]))
    left = sum(max(0, end - near.verified[p].source_offset) for p, end in near.ends.items() if p in near.verified)
    limit, waiting = run.group.thresholds.max_tail_records, sum(near.not_copied_yet.values()) + near.held.offsets
    left += near.held.offsets
    yet = f", {waiting:,} of them not copied yet" if waiting else ""
    compacted = verification.but_compacted(near.verified)
    said = f"at most {counted(left, 'record is', 'records are')} left to verify{yet}; {limit:,} are allowed"
    if left > limit:
        said += " (thresholds.max_tail_records): let the flow catch up, and try again"
    if compacted:
        said += f". The others were matched by content{compacted}"
    if near.held.sentence:
        said += f". {near.held.sentence}"
    if lost := _times_lost(run, near):
        said += f". {lost}"
    facts = {"tail_records": left, "not_copied_yet": waiting}
    return Check("content_verified", "ok" if left <= limit else "failed", said, facts)


def _times_lost(run: Run, near: NearHead) -> str:
    """Say of which topics the target does not keep the times: a property of their configuration."""
    copies = run.copies_by(run.flow).topics
    topics = {p.topic for p in near.ends} & copies.names()
    return times_lost(run.target, stamped_topics(copies.settings(topics, [STAMPING])))
