"""What earlier audits have read of a partition, and which keys of it a compacted topic may still hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from copy_audit.fingerprints import Longs
from jobs.checksum.payloads import covering
from jobs.checksum.plan import AuditPlan
from jobs.checksum.state import Scan
from jobs.fingerprint_log import FingerprintLog, FlowEnd
from kafka_dr.clusters import KafkaCluster, TopicPartition


def previous_scans(plan: AuditPlan, partition: TopicPartition) -> list[Scan]:
    """Return the scans that hold what may have to be compared again of a partition; none where it begins anew."""
    if plan.partitions[partition].fresh:
        return []
    return [scan for scan in plan.state.scans_of(partition) if partition in scan.ranges]


@dataclass(frozen=True, slots=True)
class PreviousKeys:
    """The keys of one topic that were compared by earlier audits.

    :param clusters: of both sides, where it is looked up whether a record is there still
    """

    log: FingerprintLog
    plan: AuditPlan
    topic: str
    clusters: Mapping[FlowEnd, KafkaCluster]

    def living(self, side: FlowEnd, partition: int, keys: Longs) -> frozenset[int]:
        """Return which keys a side may still have a value of, from before what is compared now.

        The newest record of a key that the fingerprint log knows is looked for on the cluster. Where the log does not
        reach back to the beginning, a key that it does not know may have one, too.

        :param keys: what stands for them, without the mark of what deletes
        """
        place = TopicPartition(self.topic, partition)
        each = self.plan.partitions[place]
        if each.first:
            return frozenset()
        wanted = set(keys.tolist())
        scans = [scan.name for scan in self.plan.state.scans_of(place)]
        there = [name for name in scans if self.log.exists(name, side)]
        complete = each.known.from_start and not each.again and there == scans and each.known.begun in scans
        newest = self.log.newest_of_keys(side, there, place, wanted)
        values = {key: offset for key, (offset, deletes) in newest.items() if not deletes}
        present = self._present(side, place, values.values())
        unknown = set() if complete else wanted - newest.keys()
        return frozenset({key for key, offset in values.items() if offset in present} | unknown)

    def _present(self, side: FlowEnd, partition: TopicPartition, offsets: Iterable[int]) -> set[int]:
        """Return which of these offsets have a record still."""
        cluster = self.clusters[side]
        start = cluster.topics.log_starts([partition])[partition]
        ranges = covering(sorted(offset for offset in offsets if offset >= start))
        return {record.offset for each in ranges for record in cluster.log.read({partition: each})}
