"""What earlier audits have read of a partition, and which of its keys a compacted topic may still hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from copy_audit.fingerprints import Longs
from jobs.checksum.payloads import covering
from jobs.checksum.plan import AuditPlan
from jobs.checksum.state import Scan
from jobs.fingerprint_log import FingerprintLog, FlowEnd
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.renamed import FlowCluster


def previous_scans(plan: AuditPlan, partition: TopicPartition) -> list[Scan]:
    """Return the scans that hold what may have to be compared again; none if the partition begins again."""
    if plan.partitions[partition].fresh:
        return []
    return [scan for scan in plan.state.scans_of(partition) if partition in scan.ranges]


@dataclass(frozen=True, slots=True)
class PreviousKeys:
    """The keys of one topic that earlier audits compared.

    :param clusters: source and target, which are asked whether a record still exists
    """

    log: FingerprintLog
    plan: AuditPlan
    topic: str
    clusters: Mapping[FlowEnd, FlowCluster]

    def living(self, end: FlowEnd, partition: int, keys: Longs) -> frozenset[int]:
        """Return which keys a cluster may still have a value of, from before what is compared now.

        The newest record of each key that the fingerprint log knows is looked up on the cluster. If the log does not
        reach back to the start, a key that it does not know may have a value, too.

        :param keys: numbers for the keys, without the bit that marks a deletion
        """
        about = TopicPartition(self.topic, partition)
        each = self.plan.partitions[about]
        if each.first:
            return frozenset()
        wanted = set(keys.tolist())
        scans = [scan.name for scan in self.plan.state.scans_of(about)]
        existing = [name for name in scans if self.log.exists(name, end)]
        complete = each.known.from_start and not each.again and existing == scans and each.known.begun in scans
        newest = self.log.newest_of_keys(end, existing, about, wanted)
        values = {key: offset for key, (offset, deletes) in newest.items() if not deletes}
        present = self._present(end, about, values.values())
        unknown = set() if complete else wanted - newest.keys()
        return frozenset({key for key, offset in values.items() if offset in present} | unknown)

    def _present(self, end: FlowEnd, partition: TopicPartition, offsets: Iterable[int]) -> set[int]:
        """Return at which of these offsets the cluster still has a record."""
        cluster = self.clusters[end]
        start = cluster.topics.log_starts([partition])[partition]
        ranges = covering(sorted(offset for offset in offsets if offset >= start))
        return {record.offset for each in ranges for record in cluster.log.read({partition: each})}
