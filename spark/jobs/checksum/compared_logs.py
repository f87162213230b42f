"""What an audit compares, taken from the fingerprint log: this audit's scan, and what earlier scans left unsettled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from copy_audit.expired import Span
from copy_audit.fingerprints import NOTHING, Fingerprints, Longs, RecordLog
from copy_audit.partitions import MatchedByTasks, PartitionLogs
from copy_audit.unmatched import Ancestors, Ancestry, nowhere
from jobs.checksum.compared_in_tasks import TaskSizes, TopicInTasks
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan, compared_ranges
from jobs.checksum.previous_scans import previous_scans
from jobs.checksum.ranges import ResolvedRanges
from jobs.checksum.scanned_rows import ComparedScans, ScannedRows
from jobs.fingerprint_log import FLOW_ENDS, FingerprintLog, FlowEnd
from kafka_dr.errors import NeedsPerson
from kafka_dr.positions import TopicPartition
from kafka_dr.register.port import History
from kafka_dr.register.quarantine import by_partition, quarantined


@dataclass(frozen=True, slots=True)
class ComparedLogs:
    """The fingerprints that an audit compares.

    :param clusters: the names of source and target
    :param history: the journals of the group, which name the ranges that a failback quarantined
    :param sizes: which topics tasks compare
    """

    log: FingerprintLog
    clusters: Mapping[FlowEnd, str]
    history: History = field(default_factory=dict)
    sizes: TaskSizes = field(default_factory=TaskSizes)

    def of_topic(
        self,
        scan: str,
        topic: str,
        plan: AuditPlan,
        resolved: ResolvedRanges,
        gone: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
    ) -> tuple[list[PartitionLogs], Ancestors | None]:
        """Return the partitions of a topic, each from the offset up to which it was settled.

        :param scan: this audit's
        :param gone: where the logs of source and target started after everything had been read
        :returns: the logs; and if tasks have matched them, what finds records in them
        :raises NeedsPerson: a scan that the state names is missing
        """
        partitions = [p.partition for p in sorted(plan.partitions) if p.topic == topic]
        both = [self._compared(end, scan, topic, plan, resolved) for end in FLOW_ENDS]
        ancestors: Ancestors | None = None
        logs: dict[int, tuple[RecordLog, RecordLog, MatchedByTasks | None]] = {}
        if topic not in resolved.compacted and self._are_many(topic, both):
            rows = [ScannedRows(self.log, topic, each) for each in both]
            in_tasks = TopicInTasks((rows[0], rows[1]), self.sizes)
            logs |= in_tasks.compare(partitions)
            ancestors = in_tasks.ancestors
        else:
            source, target = (self._read(topic, each) for each in both)
            logs |= {p: (source.get(p, NOTHING).dated(), target.get(p, NOTHING), None) for p in partitions}
        found = []
        for number in partitions:
            partition, (on_source, on_target, matched) = TopicPartition(topic, number), logs[number]
            each = plan.partitions[partition]
            before = [s.ranges[partition] for s in previous_scans(plan, partition)]
            starts = (gone[0].get(partition, 0), gone[1].get(partition, 0))
            source_range, target_range = compared_ranges(each, before, starts)
            found.append(
                PartitionLogs(
                    partition=number,
                    source=on_source,
                    target=on_target,
                    source_range=source_range,
                    target_range=target_range,
                    first=each.first,
                    position=None if resolved.positions is None else resolved.positions.get(partition, 0),
                    held_back=partition in resolved.target.hidden,
                    left_over=each.left_over,
                    quarantined=tuple(both[0].left_out.get(number, ())),
                    missing=_missing(each),
                    observed=resolved.observed,
                    more_on_source=resolved.by_others and partition in resolved.source.hidden,
                    matched=matched,
                )
            )
        return found, ancestors

    def of_scans(self, end: FlowEnd, scans: Sequence[str], topic: str) -> dict[TopicPartition, Fingerprints]:
        """Return what scans hold of a topic."""
        existing = [name for name in scans if self.log.exists(name, end)]
        return self.log.read(end, existing, [topic]) if existing else {}

    def ancestors(self, plan: AuditPlan, topic: str, hashes: Longs) -> Ancestry:
        """Look for records in earlier scans of the source, unless all of the topic is compared now."""
        if all(each.first for partition, each in plan.partitions.items() if partition.topic == topic):
            return nowhere(hashes)
        scans = [s.name for s in plan.state.scans if self.log.exists(s.name, "source")]
        return self.log.holding(scans, topic, hashes)

    def _are_many(self, topic: str, both: Sequence[ComparedScans]) -> bool:
        return sum(self.log.rows(each.end, each.scans, topic) for each in both) > self.sizes.here

    def _read(self, topic: str, compared: ComparedScans) -> dict[int, Fingerprints]:
        parts = defaultdict(list)
        for name, partitions in compared.scans.items():
            kept = self.log.read(compared.end, [name], [topic])
            for each in partitions:
                parts[each].append(kept.get(TopicPartition(topic, each), NOTHING))
        return {
            each: Fingerprints.joined(found).since(compared.since.get(each, 0)).without(compared.left_out.get(each, ()))
            for each, found in parts.items()
        }

    def _quarantined(self, end: FlowEnd, topic: str, resolved: ResolvedRanges) -> dict[int, list[Span]]:
        """Return the ranges of a cluster that a failback quarantined: they are meant to have no copy."""
        held = resolved.source if end == "source" else resolved.target
        ids = {topic: held.topics[topic].topic_id} if topic in held.topics else {}
        found = by_partition(quarantined(self.history, self.clusters[end], ids))
        return {
            p.partition: [(each.start, each.end) for each in ranges] for p, ranges in found.items() if p.topic == topic
        }

    def _compared(
        self, end: FlowEnd, scan: str, topic: str, plan: AuditPlan, resolved: ResolvedRanges
    ) -> ComparedScans:
        """Return where that is what was read now, and what earlier audits have read and not settled.

        :raises NeedsPerson: a scan that the state names is missing
        """
        number, since = FLOW_ENDS.index(end), {}
        scans: dict[str, list[int]] = defaultdict(list)
        for partition, each in plan.partitions.items():
            if partition.topic != topic:
                continue
            for earlier in previous_scans(plan, partition):
                start, stop = earlier.ranges[partition][number]
                if stop > max(start, each.known.resume[number]):
                    scans[earlier.name].append(partition.partition)
                    since[partition.partition] = each.known.resume[number]
        for name in scans:
            if not self.log.exists(name, end):
                raise NeedsPerson(
                    f"{self.log.uri}/{name}/{end} is missing, and it holds records of {topic} that were not compared "
                    "yet: restore the folder, or audit in full"
                )
        if self.log.exists(scan, end):
            scans[scan] = [p.partition for p in plan.partitions if p.topic == topic]
        return ComparedScans(end, scans, since, self._quarantined(end, topic, resolved))


def _missing(plan: PartitionAuditPlan) -> Fingerprints:
    columns = np.array(plan.known.missing, np.int64).reshape(-1, 3).T
    return Fingerprints(*columns)
