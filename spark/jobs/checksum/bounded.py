"""What an audit is asked to compare, and audits of a range of time or offsets, which keep only their report."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.state import Both
from kafka_dr.audit.kept_map import MapKey, Runs
from kafka_dr.audit.offset_runs import OffsetRun, first_common, last_common
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.errors import Refused

_OFFSETS = re.compile(r"(?P<topic>.+)-(?P<partition>\d+):(?P<start>\d*)-(?P<end>\d*)")


@dataclass(frozen=True, slots=True)
class OffsetBounds:
    """A range of offsets of one partition of the source.

    :param end: next after the last one; ``None`` for all that follow
    """

    partition: TopicPartition
    start: int
    end: int | None

    @classmethod
    def parse(cls, text: str) -> OffsetBounds:
        """Read ``TOPIC-PARTITION:START-END``; either offset may be left out.

        :raises ValueError: the text has another form
        """
        found = _OFFSETS.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a range of offsets: write TOPIC-PARTITION:START-END")
        end = int(found["end"]) if found["end"] else None
        start = int(found["start"] or 0)
        if end is not None and end <= start:
            raise ValueError(f"{text!r} holds no offset: END is next after the last one")
        return cls(TopicPartition(found["topic"], int(found["partition"])), start, end)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit is asked for.

    :param full: begin again instead of continuing the previous audit
    :param topics: only these; empty: all of the group's
    :param since: only records made then or later, aware; with ``until`` only the report is kept
    :param until: only records made before, aware
    :param offsets: only these; only the report is kept
    """

    full: bool = False
    topics: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    offsets: tuple[OffsetBounds, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether only a range is audited."""
        return self.since is not None or self.until is not None or bool(self.offsets)

    @property
    def whole(self) -> bool:
        """Whether all of the flow is audited; the result of a part is not valid for the rest."""
        return not self.bounded and not self.topics

    @property
    def of_topics(self) -> tuple[str, ...]:
        """The topics that are audited; empty: all of the group's."""
        return (*self.topics, *(each.partition.topic for each in self.offsets))


def within_time(
    plan: AuditPlan,
    options: AuditOptions,
    clusters: tuple[FlowCluster, FlowCluster],
    *,
    restamped: Collection[str],
    known: Runs,
) -> AuditPlan:
    """Limit a plan to a range of time.

    Both clusters hold the same records with the same timestamps in the same order, so the first record of that time or
    later is the same one on both. Where the target's broker stamps records, the offset map translates the source's
    offsets, see :func:`within_offsets`.

    :param clusters: source and target
    :param restamped: topics whose timestamps cannot be compared
    :param known: the offset map
    """
    partitions = dict(plan.partitions)
    for partition, (start, end) in _at_times(partitions, options, 0, clusters[0]).items():
        if partition.topic in restamped:
            cut = _cut_by_map(partitions[partition], start or 0, end, known.get(_key(plan, partition), ()))
        else:
            cut = _cut(partitions[partition], 0, start, end)
        partitions[partition] = cut
    timed = {partition: each for partition, each in partitions.items() if partition.topic not in restamped}
    for partition, (start, end) in _at_times(timed, options, 1, clusters[1]).items():
        partitions[partition] = _cut(partitions[partition], 1, start, end)
    return replace(plan, partitions=partitions)


def _at_times(
    partitions: Mapping[TopicPartition, PartitionAuditPlan], options: AuditOptions, number: int, cluster: FlowCluster
) -> dict[TopicPartition, tuple[int | None, int | None]]:
    """Return the first offset of that time and next after the last one, of the partitions that hold any record;
    ``None`` for a bound that was not asked for.

    :param number: 0 for the source, 1 for the target
    """
    held = {p: (each.source, each.target)[number] for p, each in partitions.items()}
    found: list[Mapping[TopicPartition, int | None]] = []
    for moment in (options.since, options.until):
        asked = [partition for partition, each in held.items() if len(each)] if moment is not None else []
        at = cluster.offsets_by_time.at(asked, int(moment.timestamp() * 1000)) if moment is not None else {}
        # ``None``: no record is that new.
        found.append({p: held[p].end if offset is None else offset for p, offset in at.items()})
    return {p: (found[0].get(p), found[1].get(p)) for p, each in held.items() if len(each)}


def within_offsets(plan: AuditPlan, wanted: Sequence[OffsetBounds], known: Runs) -> AuditPlan:
    """Limit a plan to offsets of the source.

    The offset map translates them to the target. A bound without a record in the map is widened to the nearest record
    that is present on both clusters, or to the end of the log if there is none.

    :param known: the offset map
    :raises Refused: a partition is on neither cluster, or is named twice
    """
    partitions: dict[TopicPartition, PartitionAuditPlan] = {}
    for bounds in wanted:
        partition = bounds.partition
        if partition not in plan.partitions or partition in partitions:
            what = "named twice" if partition in partitions else "on neither cluster"
            raise Refused(f"{partition} is {what}: give --offsets one range for each existing partition")
        runs = known.get(_key(plan, partition), ())
        partitions[partition] = _cut_by_map(plan.partitions[partition], bounds.start, bounds.end, runs)
    return replace(plan, partitions=partitions)


def _key(plan: AuditPlan, partition: TopicPartition) -> MapKey:
    return MapKey(plan.state.identity[2], *plan.state.topic_ids[partition.topic], partition.topic, partition.partition)


def _cut_by_map(plan: PartitionAuditPlan, start: int, end: int | None, runs: Sequence[OffsetRun]) -> PartitionAuditPlan:
    """Limit both clusters to offsets of the source, widened to the nearest record that is present on both clusters."""
    first = (last_common(runs, start) if start else None) or (None, None)
    last = (None if end is None else first_common(runs, end)) or (None, None)
    return _cut(_cut(plan, 0, first[0], last[0]), 1, first[1], last[1])


def _cut(plan: PartitionAuditPlan, number: int, start: int | None, end: int | None) -> PartitionAuditPlan:
    """Limit what is read of one cluster."""
    held: OffsetRange = (plan.source, plan.target)[number]
    low = held.start if start is None else min(max(start, held.start), held.end)
    high = held.end if end is None else min(max(end, low), held.end)
    # Records that expired before the log was read are missing in a range that begins at its start, too.
    kept = plan.known.first_kept[number] if low == held.start else 0
    known = replace(plan.known, resume=_with(plan.known.resume, number, low))
    known = replace(known, first_kept=_with(known.first_kept, number, kept))
    cut = OffsetRange(low, high)
    return replace(plan, known=known, source=cut) if number == 0 else replace(plan, known=known, target=cut)


def _with(pair: Both, number: int, new: int) -> Both:
    return (new, pair[1]) if number == 0 else (pair[0], new)
