"""What a checksum audit reads and compares, given what earlier audits left and what both clusters hold now. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from copy_audit.expired import ComparedRange
from jobs.checksum.ranges import ResolvedRanges
from jobs.checksum.state import AuditState, Both, PartitionState
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.positions import SeedPoint

_NOTHING = OffsetRange(0, 0)


@dataclass(frozen=True, slots=True)
class PartitionAuditPlan:
    """One partition.

    :param known: how far it was settled before
    :param source: what is read of the source now
    :param target: what is read of the target now
    :param first: whether nothing of it was compared before
    :param events: what happened to the logs since, as findings
    :param left_over: below this offset the target has copies of what the source had before its log was truncated
    :param again: whether nothing of earlier scans is compared: waiting records are read again, because their
        fingerprints are made in another way now; or comparing begins at a point of both logs
    """

    known: PartitionState
    source: OffsetRange
    target: OffsetRange
    first: bool
    events: tuple[Difference, ...] = ()
    left_over: int = 0
    again: bool = False

    @property
    def fresh(self) -> bool:
        """Whether nothing that was read before is compared."""
        return self.first or self.again


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """All partitions of an audit."""

    state: AuditState
    partitions: Mapping[TopicPartition, PartitionAuditPlan] = field(default_factory=dict)


#: Where comparing begins if nothing was compared before; partitions that are not in it: at the start of both logs.
Beginnings = Mapping[TopicPartition, SeedPoint]


def make(
    state: AuditState | None, resolved: ResolvedRanges, *, full: bool, beginnings: Beginnings | None = None
) -> AuditPlan:
    """Plan an audit.

    :param full: begin again with every partition that is audited
    """
    identity = (resolved.source.cluster_id, resolved.target.cluster_id, resolved.epoch or 0)
    base = state if state is not None and state.identity == identity else AuditState(identity)
    ids = {topic: _ids(topic, resolved) for topic in {p.topic for p in resolved.partitions}}
    begins = beginnings or {}
    partitions = {p: _plan(p, base, ids, resolved, full=full, begins=begins.get(p)) for p in resolved.partitions}
    kinds = {**base.kinds, **{topic: resolved.kind(topic) for topic in ids}}
    return AuditPlan(replace(base, topic_ids={**base.topic_ids, **ids}, kinds=kinds), partitions)


def without_times(before: AuditState, resolved: ResolvedRanges) -> set[str]:
    """Return the topics whose timestamps could not be compared in their last audit.

    They stay so until a full audit, whatever their setting is now: their logs hold records that a broker stamped.
    """
    same = {topic for topic, ids in before.topic_ids.items() if ids == _ids(topic, resolved)}
    return {topic for topic, (_, timed) in before.kinds.items() if not timed and topic in same}


def _ids(topic: str, resolved: ResolvedRanges) -> tuple[str, str]:
    source, target = (held.topics.get(topic) for held in (resolved.source, resolved.target))
    return (source.topic_id if source else "", target.topic_id if target else "")


def _plan(
    partition: TopicPartition,
    base: AuditState,
    ids: Mapping[str, tuple[str, str]],
    resolved: ResolvedRanges,
    *,
    full: bool,
    begins: SeedPoint | None,
) -> PartitionAuditPlan:
    source, target = (held.ranges.get(partition, _NOTHING) for held in (resolved.source, resolved.target))
    known = None if full else base.partitions.get(partition)
    events: list[Difference] = []
    left_over = 0
    if known is not None:
        changed = _changed(base.topic_ids.get(partition.topic, ("", "")), ids[partition.topic])
        cut = (known.scanned[0] > source.end, known.scanned[1] > target.end)
        events = [
            _event(partition, known, cluster, new_topic=new)
            for cluster, new, shorter in zip(("source", "target"), changed, cut, strict=True)
            if new or shorter
        ]
        if events:
            left_over = known.scanned[1] if cut[0] and not any(changed) else 0
            known = _begun_again(known, new_source=changed[0], other_target=changed[1] or cut[1])
    first = known is None and begins is None
    begun = known is None and begins is not None
    again = begun or base.kinds.get(partition.topic, resolved.kind(partition.topic)) != resolved.kind(partition.topic)
    start = known or (_begun_at(begins) if begins else PartitionState(first_kept=(source.start, target.start)))
    reach = (0, 0) if first else start.resume if again else start.scanned
    ranges = _from(source, reach[0]), _from(target, reach[1])
    return PartitionAuditPlan(start, *ranges, first or bool(events), tuple(events), left_over, again)


def _begun_at(point: SeedPoint) -> PartitionState:
    """Return the state of a partition of which everything below a point was decided about before, and is left out."""
    both = (point.source, point.target)
    return PartitionState(both, both, coverage=Coverage(produced=point.source, excluded=point.source))


def _changed(before: tuple[str, str], now: tuple[str, str]) -> tuple[bool, bool]:
    return tuple(bool(old) and old != new for old, new in zip(before, now, strict=True))  # type: ignore[return-value]


def _event(partition: TopicPartition, known: PartitionState, cluster: str, *, new_topic: bool) -> Difference:
    what = "the topic was deleted, and created again if it exists," if new_topic else "the log was truncated"
    detail = f"{what} on the {cluster} since it was audited: the records that were verified there no longer exist"
    verified = max(1, known.coverage.verified)
    source, target = (known.scanned[0], None) if cluster == "source" else (None, known.scanned[1])
    return Difference(FindingKind.UNVERIFIABLE, partition.partition, source, target, verified, 0, detail)


def _begun_again(known: PartitionState, *, new_source: bool, other_target: bool) -> PartitionState:
    """Begin again with a log that lost compared records; what the other cluster still has of them is not a finding."""
    if new_source and not other_target:
        # The target keeps its copies of the former topic of that name.
        return PartitionState((0, known.resume[1]), (0, known.scanned[1]), (0, known.first_kept[1]), open=known.open)
    return PartitionState(open=known.open)


def _from(held: OffsetRange, reach: int) -> OffsetRange:
    start = max(held.start, reach)
    return OffsetRange(start, max(start, held.end))


def compared_ranges(
    plan: PartitionAuditPlan, earlier: list[tuple[Both, Both]], gone: tuple[int, int]
) -> tuple[ComparedRange, ComparedRange]:
    """Return what is compared on source and target, with what expired in between.

    :param earlier: what scans of the log hold of it, in their order
    :param gone: where both logs started after everything had been read: what was below may have been deleted unread
    """
    resume = plan.known.resume
    found = []
    for number, new in enumerate((plan.source, plan.target)):
        ranges = [
            each[number] for each in earlier if each[number][1] > resume[number] and each[number][1] > each[number][0]
        ]
        ranges.append((new.start, new.end))
        reach = max(resume[number], plan.known.first_kept[number] if plan.first else 0)
        expired = []
        for start, end in ranges:
            if start > reach:
                expired.append((reach, start))
            reach = max(reach, end)
        start = resume[number]
        vanished = (new.start, min(gone[number], new.end))
        found.append(
            ComparedRange(
                start,
                max(start, new.end),
                expired=tuple(expired),
                first_kept=plan.known.first_kept[number],
                vanished=vanished if vanished[0] < vanished[1] else (0, 0),
            )
        )
    return found[0], found[1]
