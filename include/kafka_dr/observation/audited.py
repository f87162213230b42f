"""One partition by both comparisons: the checksum audits' up to where they have settled it, and the look's own. Pure.

The audits have compared everything that both clusters held, and the look its newest records, more recently. What a look
finds after where the audits ended is added to what they found. Where both know something of the same records, the
larger number counts: a loss is never smaller than either of them knows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_dr.audit.difference import Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.settled import SettledFlow, SettledPartition
from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.observation.meaning import counted_as
from kafka_dr.observation.records import ReadLog
from kafka_dr.positions import TopicPartition

#: As what a look counts the findings of audits.
_COUNTED_AS = {
    FindingKind.LOST: "lost",
    FindingKind.DUPLICATE: "duplicated",
    FindingKind.REPLAY: "duplicated",
    FindingKind.REORDERED: "reordered",
    FindingKind.MOVED: "moved",
    FindingKind.FOREIGN: "foreign",
    FindingKind.ABORTED: "aborted",
}
#: Kinds that only say that a look did not read far enough back.
_FURTHER_BACK = ("not_read", "unexplained")


@dataclass(frozen=True, slots=True)
class JoinedPartition:
    """What became of the records of one partition.

    :param compared: by the look; ``None`` if it did not reach the partition
    :param settled: by the audits; ``None`` if they know nothing of it
    """

    compared: PartitionComparison | None
    settled: SettledPartition | None

    @property
    def counts(self) -> Counter[str]:
        """How many records of each kind there are."""
        own = Counter() if self.compared is None else self.compared.counts
        if self.settled is None:
            return own
        audited = _audited(self.settled)
        if self.compared is None:
            return audited
        later = _counted(self._later(self.compared, self.settled))
        joined = {kind: max(own[kind], audited[kind] + later[kind]) for kind in own.keys() | audited.keys()}
        if self.covers_older:
            joined |= {kind: audited[kind] + later[kind] for kind in _FURTHER_BACK}
        return Counter({kind: count for kind, count in joined.items() if count})

    @property
    def covers_older(self) -> bool:
        """Whether the audits have compared all that is older than what the look read, on both clusters."""
        if self.settled is None or self.compared is None:
            return False
        logs = self.compared.source, self.compared.target
        return all(log.read.start <= until for log, until in zip(logs, self.settled.until, strict=True))

    @property
    def whole(self) -> bool:
        """Whether every record was compared that both clusters hold."""
        if self.compared is None:
            return False
        return self.covers_older or (self.compared.source.whole and self.compared.target.whole)

    @staticmethod
    def _later(compared: PartitionComparison, settled: SettledPartition) -> Iterable[tuple[Difference, int]]:
        """Yield the differences of a look with how many of their records are after where the audits ended."""
        for each in compared.differences:
            if each.source_offset is not None:
                yield each, _after(compared.source, each.source_offset, each.count, settled.until[0])
            elif each.target_offset is not None:
                yield each, _after(compared.target, each.target_offset, each.count, settled.until[1])


def settled_in(
    found: SettledFlow | None, clusters: tuple[str, str], topic_ids: Mapping[str, tuple[str, str]]
) -> dict[TopicPartition, SettledPartition]:
    """Return what audits have settled of the clusters and topics that there are now.

    :param clusters: the ids of source and target
    :param topic_ids: by topic, its id on the source and on the target
    """
    if found is None or found.clusters != clusters:
        return {}
    same = {topic for topic, ids in found.topic_ids.items() if topic_ids.get(topic) == ids}
    return {p: each for p, each in found.partitions.items() if p.topic in same}


def _audited(settled: SettledPartition) -> Counter[str]:
    found: Counter[str] = Counter()
    for kind, count in settled.open.items():
        found[_COUNTED_AS.get(FindingKind(kind), "corrupted" if kind.startswith("CORRUPT") else "unexplained")] += count
    return found


def _counted(differences: Iterable[tuple[Difference, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for difference, count in differences:
        found[counted_as(difference)] += count
    return found


def _after(log: ReadLog, offset: int, count: int, until: int) -> int:
    """Return how many records of a run are at an offset or after it.

    :param offset: of the first record of the run
    :param until: the offset
    """
    first = bisect_left(log.records, offset, key=lambda record: record.offset)
    border = bisect_left(log.records, until, key=lambda record: record.offset)
    return max(0, min(count, first + count - border))
