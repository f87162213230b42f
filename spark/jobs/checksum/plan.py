"""What a checksum audit reads and compares: from what the one before has left, and what both sides hold now. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from copy_audit.expired import ComparedRange
from jobs.checksum.ranges import ResolvedRanges
from jobs.checksum.state import AuditState, Both, PartitionState
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import OffsetRange, TopicPartition

_NOTHING = OffsetRange(0, 0)


@dataclass(frozen=True, slots=True)
class PartitionAuditPlan:
    """One partition.

    :param known: how far it was settled before
    :param source: what is read of the source now
    :param target: what is read of the target now
    :param first: whether nothing of it was compared before
    :param events: what happened to the logs since, as findings
    :param left_over: below this the target has what the source had before its log was cut off
    :param again: whether what waits is read again, because its fingerprints are of another kind than today's
    """

    known: PartitionState
    source: OffsetRange
    target: OffsetRange
    first: bool
    events: tuple[Difference, ...] = ()
    left_over: int = 0
    again: bool = False

    @property
    def anew(self) -> bool:
        """Whether nothing that was read before is compared."""
        return self.first or self.again


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """All partitions of an audit."""

    state: AuditState
    partitions: Mapping[TopicPartition, PartitionAuditPlan] = field(default_factory=dict)


def make(state: AuditState | None, resolved: ResolvedRanges, *, full: bool) -> AuditPlan:
    """AuditPlan an audit.

    :param full: begin anew with every partition that is audited
    """
    identity = (resolved.source.cluster_id, resolved.target.cluster_id, resolved.epoch or 0)
    base = state if state is not None and state.identity == identity else AuditState(identity)
    ids = {topic: _ids(topic, resolved) for topic in {p.topic for p in resolved.partitions}}
    partitions = {p: _plan(p, base, ids, resolved, full=full) for p in resolved.partitions}
    kinds = {**base.kinds, **{topic: resolved.kind(topic) for topic in ids}}
    return AuditPlan(replace(base, topic_ids={**base.topic_ids, **ids}, kinds=kinds), partitions)


def without_times(before: AuditState, resolved: ResolvedRanges) -> set[str]:
    """Return the topics whose times could not be compared when they were audited last.

    They stay so until a full audit, whatever they are set to now: what was stamped once is in their logs.
    """
    same = {topic for topic, ids in before.topic_ids.items() if ids == _ids(topic, resolved)}
    return {topic for topic, (_, timed) in before.kinds.items() if not timed and topic in same}


def _ids(topic: str, resolved: ResolvedRanges) -> tuple[str, str]:
    here, there = (side.topics.get(topic) for side in (resolved.source, resolved.target))
    return (here.topic_id if here else "", there.topic_id if there else "")


def _plan(
    partition: TopicPartition,
    base: AuditState,
    ids: Mapping[str, tuple[str, str]],
    resolved: ResolvedRanges,
    *,
    full: bool,
) -> PartitionAuditPlan:
    here, there = resolved.source.ranges.get(partition, _NOTHING), resolved.target.ranges.get(partition, _NOTHING)
    known = None if full else base.partitions.get(partition)
    events: list[Difference] = []
    left_over = 0
    if known is not None:
        changed = _changed(base.topic_ids.get(partition.topic, ("", "")), ids[partition.topic])
        cut = (known.scanned[0] > here.end, known.scanned[1] > there.end)
        events = [
            _event(partition, known, side, new_topic=new)
            for side, new, shorter in zip(("source", "target"), changed, cut, strict=True)
            if new or shorter
        ]
        if events:
            left_over = known.scanned[1] if cut[0] and not any(changed) else 0
            known = _begun_anew(known, new_source=changed[0], other_target=changed[1] or cut[1])
    first = known is None
    again = base.kinds.get(partition.topic, resolved.kind(partition.topic)) != resolved.kind(partition.topic)
    start = PartitionState(first_kept=(here.start, there.start)) if known is None else known
    reach = (0, 0) if first else start.resume if again else start.scanned
    ranges = _from(here, reach[0]), _from(there, reach[1])
    return PartitionAuditPlan(start, *ranges, first or bool(events), tuple(events), left_over, again)


def _changed(before: tuple[str, str], now: tuple[str, str]) -> tuple[bool, bool]:
    return tuple(bool(old) and old != new for old, new in zip(before, now, strict=True))  # type: ignore[return-value]


def _event(partition: TopicPartition, known: PartitionState, side: str, *, new_topic: bool) -> Difference:
    what = "the topic was deleted, and created again if it is there," if new_topic else "the log was cut off"
    detail = f"{what} on the {side} since it was audited: what was verified there is gone"
    place = known.scanned[0 if side == "source" else 1]
    verified = max(1, known.coverage.verified)
    here, there = (place, None) if side == "source" else (None, place)
    return Difference(FindingKind.UNVERIFIABLE, partition.partition, here, there, verified, 0, detail)


def _begun_anew(known: PartitionState, *, new_source: bool, other_target: bool) -> PartitionState:
    """Begin anew with what lost records that were compared; what the other side still has of them is not held against
    it.
    """
    if new_source and not other_target:
        # The target's copies of what another topic of that name had are left as they are.
        return PartitionState((0, known.resume[1]), (0, known.scanned[1]), (0, known.first_kept[1]), open=known.open)
    return PartitionState(open=known.open)


def _from(held: OffsetRange, reach: int) -> OffsetRange:
    start = max(held.start, reach)
    return OffsetRange(start, max(start, held.end))


def stretches(
    plan: PartitionAuditPlan, earlier: list[tuple[Both, Both]], gone: tuple[int, int]
) -> tuple[ComparedRange, ComparedRange]:
    """Return what is compared of both sides, with what expired in between.

    :param earlier: what scans of the log hold of it, in their order
    :param gone: where both logs started when everything had been read: what was below may have been deleted unread
    """
    resume = plan.known.resume
    sides = []
    for side, new in enumerate((plan.source, plan.target)):
        ranges = [each[side] for each in earlier if each[side][1] > resume[side] and each[side][1] > each[side][0]]
        ranges.append((new.start, new.end))
        reach = max(resume[side], plan.known.first_kept[side] if plan.first else 0)
        expired = []
        for start, end in ranges:
            if start > reach:
                expired.append((reach, start))
            reach = max(reach, end)
        start = resume[side]
        vanished = (new.start, min(gone[side], new.end))
        sides.append(
            ComparedRange(
                start,
                max(start, new.end),
                expired=tuple(expired),
                first_kept=plan.known.first_kept[side],
                vanished=vanished if vanished[0] < vanished[1] else (0, 0),
            )
        )
    return sides[0], sides[1]
