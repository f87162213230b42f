"""What an audit is asked for, and audits of a stretch alone, of time or of offsets. Those keep nothing but a report."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.state import Both
from kafka_dr.audit.kept_map import MapKey, Runs
from kafka_dr.audit.offset_runs import OffsetRun, first_common, last_common
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.offsets_by_time import OffsetsByTime
from kafka_dr.errors import Refused

_OFFSETS = re.compile(r"(?P<topic>.+)-(?P<partition>\d+):(?P<start>\d*)-(?P<end>\d*)")


@dataclass(frozen=True, slots=True)
class OffsetBounds:
    """Some offsets of a partition of the source.

    :param end: next after the last one; ``None`` for all that follow
    """

    partition: TopicPartition
    start: int
    end: int | None

    @classmethod
    def parse(cls, text: str) -> OffsetBounds:
        """Read ``TOPIC-PARTITION:START-END``; either offset may be left out.

        :raises ValueError: it is something else
        """
        found = _OFFSETS.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no stretch of offsets: write TOPIC-PARTITION:START-END")
        end = int(found["end"]) if found["end"] else None
        start = int(found["start"] or 0)
        if end is not None and end <= start:
            raise ValueError(f"{text!r} holds no offset: END is next after the last one")
        return cls(TopicPartition(found["topic"], int(found["partition"])), start, end)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit is about.

    :param full: begin anew instead of where the last audit ended
    :param topics: only these; all of the group's where empty
    :param since: only records made then or later, aware; with ``until`` nothing is kept but the report
    :param until: only records made before, aware
    :param offsets: only these; nothing is kept but the report
    """

    full: bool = False
    topics: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    offsets: tuple[OffsetBounds, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether only a stretch is audited."""
        return self.since is not None or self.until is not None or bool(self.offsets)

    @property
    def whole(self) -> bool:
        """Whether all of the flow is audited; what is found out about a part does not speak for the rest."""
        return not self.bounded and not self.topics

    @property
    def of_topics(self) -> tuple[str, ...]:
        """The topics that it is about; all of the group's where empty."""
        return (*self.topics, *(each.partition.topic for each in self.offsets))


def within_time(
    plan: AuditPlan,
    options: AuditOptions,
    clusters: tuple[KafkaCluster, KafkaCluster],
    *,
    restamped: Collection[str],
    known: Runs,
) -> AuditPlan:
    """Cut a plan to a stretch of time. Both sides hold the same records with the same times in the same order, so
    the first record of that time or later is the same one on either. Where the target stamps records itself their times
    say nothing: there the offset map tells where the source's offsets are, as :func:`within_offsets` has it.

    :param clusters: source and target
    :param restamped: topics whose records the target stamps itself
    :param known: the offset map
    """
    partitions = dict(plan.partitions)
    for partition, (start, end) in _at_times(partitions, options, 0, clusters[0]).items():
        if partition.topic in restamped:
            cut = _cut_by_map(partitions[partition], start or 0, end, known.get(_key(plan, partition), ()))
        else:
            cut = _cut_side(partitions[partition], 0, start, end)
        partitions[partition] = cut
    timed = {partition: each for partition, each in partitions.items() if partition.topic not in restamped}
    for partition, (start, end) in _at_times(timed, options, 1, clusters[1]).items():
        partitions[partition] = _cut_side(partitions[partition], 1, start, end)
    return replace(plan, partitions=partitions)


def _at_times(
    partitions: Mapping[TopicPartition, PartitionAuditPlan], options: AuditOptions, side: int, cluster: KafkaCluster
) -> dict[TopicPartition, tuple[int | None, int | None]]:
    """Return where a side's records of that time begin and end, of the partitions that hold any; ``None`` for a bound
    that was not asked for.
    """
    held = {p: (each.source, each.target)[side] for p, each in partitions.items()}
    found: list[Mapping[TopicPartition, int | None]] = []
    for moment in (options.since, options.until):
        asked = [partition for partition, each in held.items() if len(each)] if moment is not None else []
        at = OffsetsByTime.of(cluster).offsets_at(asked, int(moment.timestamp() * 1000)) if moment is not None else {}
        # Beyond the last record there is nothing.
        found.append({p: held[p].end if offset is None else offset for p, offset in at.items()})
    return {p: (found[0].get(p), found[1].get(p)) for p, each in held.items() if len(each)}


def within_offsets(plan: AuditPlan, wanted: Sequence[OffsetBounds], known: Runs) -> AuditPlan:
    """Cut a plan to offsets of the source.

    Where they are on the target the offset map tells; a bound that it has no record for goes outward to the next one
    that both sides are known to have, and to the end of the log where it knows none.

    :param known: the offset map
    :raises Refused: a partition is asked for that is on neither side, or twice
    """
    partitions: dict[TopicPartition, PartitionAuditPlan] = {}
    for stretch in wanted:
        partition = stretch.partition
        if partition not in plan.partitions or partition in partitions:
            what = "asked for twice" if partition in partitions else "on neither side"
            raise Refused(f"{partition} is {what}: name one stretch of offsets of a partition that there is")
        runs = known.get(_key(plan, partition), ())
        partitions[partition] = _cut_by_map(plan.partitions[partition], stretch.start, stretch.end, runs)
    return replace(plan, partitions=partitions)


def _key(plan: AuditPlan, partition: TopicPartition) -> MapKey:
    here, there = plan.state.topic_ids[partition.topic]
    return MapKey(plan.state.identity[2], here, there, partition.topic, partition.partition)


def _cut_by_map(plan: PartitionAuditPlan, start: int, end: int | None, runs: Sequence[OffsetRun]) -> PartitionAuditPlan:
    """Cut both sides to offsets of the source, outward to the next place that both are known to have."""
    first = (last_common(runs, start) if start else None) or (None, None)
    last = (None if end is None else first_common(runs, end)) or (None, None)
    return _cut_side(_cut_side(plan, 0, first[0], last[0]), 1, first[1], last[1])


def _cut_side(plan: PartitionAuditPlan, side: int, start: int | None, end: int | None) -> PartitionAuditPlan:
    """Cut what is read of one side."""
    held: OffsetRange = (plan.source, plan.target)[side]
    low = held.start if start is None else min(max(start, held.start), held.end)
    high = held.end if end is None else min(max(end, low), held.end)
    # What was gone before the log was read is gone for a stretch that begins with it, too.
    kept = plan.known.first_kept[side] if low == held.start else 0
    known = replace(plan.known, resume=_with(plan.known.resume, side, low))
    known = replace(known, first_kept=_with(known.first_kept, side, kept))
    cut = OffsetRange(low, high)
    return replace(plan, known=known, source=cut) if side == 0 else replace(plan, known=known, target=cut)


def _with(pair: Both, side: int, new: int) -> Both:
    return (new, pair[1]) if side == 0 else (pair[0], new)
