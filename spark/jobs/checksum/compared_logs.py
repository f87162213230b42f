"""What an audit compares, taken from the fingerprint log: this audit's scan, and what earlier scans left unsettled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from copy_audit.fingerprints import NOTHING, Fingerprints, Longs
from copy_audit.partitions import PartitionLogs
from copy_audit.unmatched import Ancestry, nowhere
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan, compared_ranges
from jobs.checksum.previous_scans import previous_scans
from jobs.checksum.ranges import ResolvedRanges
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
    """

    log: FingerprintLog
    clusters: Mapping[FlowEnd, str]
    history: History = field(default_factory=dict)

    def of_topic(
        self,
        scan: str,
        topic: str,
        plan: AuditPlan,
        resolved: ResolvedRanges,
        gone: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
    ) -> list[PartitionLogs]:
        """Return the partitions of a topic, each from the offset up to which it was settled.

        :param scan: this audit's
        :param gone: where the logs of source and target started after everything had been read
        :raises NeedsPerson: a scan that the state names is missing
        """
        left_out = {end: self._quarantined(end, topic, resolved) for end in FLOW_ENDS}
        logs: dict[FlowEnd, dict[TopicPartition, Fingerprints]] = {}
        for number, end in enumerate(FLOW_ENDS):
            new, old = self.of_scans(end, [scan], topic), self._unsettled(end, topic, plan)
            logs[end] = {
                p: _since(each, number, old.get(p, NOTHING), new.get(p, NOTHING)).without(left_out[end].get(p, ()))
                for p, each in plan.partitions.items()
                if p.topic == topic
            }
        found = []
        for partition in sorted(logs["source"]):
            each = plan.partitions[partition]
            before = [s.ranges[partition] for s in previous_scans(plan, partition)]
            starts = (gone[0].get(partition, 0), gone[1].get(partition, 0))
            source_range, target_range = compared_ranges(each, before, starts)
            found.append(
                PartitionLogs(
                    partition=partition.partition,
                    source=logs["source"][partition].dated(),
                    target=logs["target"][partition],
                    source_range=source_range,
                    target_range=target_range,
                    first=each.first,
                    position=None if resolved.positions is None else resolved.positions.get(partition, 0),
                    held_back=partition in resolved.target.hidden,
                    left_over=each.left_over,
                    quarantined=tuple(left_out["source"].get(partition, ())),
                    missing=_missing(each),
                    observed=resolved.observed,
                    more_on_source=resolved.by_others and partition in resolved.source.hidden,
                )
            )
        return found

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

    def _quarantined(
        self, end: FlowEnd, topic: str, resolved: ResolvedRanges
    ) -> dict[TopicPartition, list[tuple[int, int]]]:
        """Return the ranges of a cluster that a failback quarantined: they are meant to have no copy."""
        held = resolved.source if end == "source" else resolved.target
        ids = {topic: held.topics[topic].topic_id} if topic in held.topics else {}
        found = by_partition(quarantined(self.history, self.clusters[end], ids))
        return {p: [(each.start, each.end) for each in ranges] for p, ranges in found.items()}

    def _unsettled(self, end: FlowEnd, topic: str, plan: AuditPlan) -> dict[TopicPartition, Fingerprints]:
        """Return what earlier audits have read of a topic and not settled.

        :raises NeedsPerson: a scan that the state names is missing
        """
        number = FLOW_ENDS.index(end)
        wanted: dict[tuple[str, ...], list[TopicPartition]] = {}
        for partition in (p for p in plan.partitions if p.topic == topic):
            resume = plan.partitions[partition].known.resume[number]
            ranges = {s.name: s.ranges[partition][number] for s in previous_scans(plan, partition)}
            needed = tuple(name for name, (start, stop) in ranges.items() if stop > max(start, resume))
            if needed:
                wanted.setdefault(needed, []).append(partition)
        for name in {name for names in wanted for name in names}:
            if not self.log.exists(name, end):
                raise NeedsPerson(
                    f"{self.log.uri}/{name}/{end} is missing, and it holds records of {topic} that were not compared "
                    "yet: restore the folder, or audit in full"
                )
        found: dict[TopicPartition, Fingerprints] = {}
        for names, partitions in wanted.items():
            kept = self.log.read(end, names, [topic])
            found |= {partition: kept[partition] for partition in partitions if partition in kept}
        return found


def _since(plan: PartitionAuditPlan, number: int, old: Fingerprints, new: Fingerprints) -> Fingerprints:
    """Return what is compared of one cluster: what earlier audits did not settle, and what was read now."""
    return new if plan.fresh else Fingerprints.joined([old.since(plan.known.resume[number]), new])


def _missing(plan: PartitionAuditPlan) -> Fingerprints:
    columns = np.array(plan.known.missing, np.int64).reshape(-1, 3).T
    return Fingerprints(*columns)
