"""What a record means that only one of two clusters has, in a flow of which nothing is known but its two logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from kafka_dr.audit.alignment import Block
from kafka_dr.audit.compaction import KeyedLog, KeyedPair, KeyedRecord, Living, Side, none_living
from kafka_dr.audit.corruption import Parts
from kafka_dr.audit.difference import Difference, OneSidedRules, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind
from kafka_dr.observation.records import NumberedPair, ReadLog
from kafka_dr.positions import OffsetRange

_ABORTED = "its original's transaction was aborted"
_COMPACTED = "a later record has the same key, and the topic is compacted"
_PERHAPS_COMPACTED = "a later record has the same key, and whether the topic is compacted is not known"
_EXPIRED_ON_TARGET = "the target has deleted what its log began with"
_EXPIRED_ON_SOURCE = "the source has deleted what its log began with"
_NOT_READ = "its counterpart would be before the newest records, which alone were read"
_PERHAPS_OLDER = "it is foreign, or a second copy of a record that the source no longer holds or that was not read"
_UNDECIDED = "its transaction is open and may still be aborted"
#: As what records are counted of which more is known than the kind.
_COUNTED = {
    _ABORTED: "aborted",
    _COMPACTED: "compacted",
    _EXPIRED_ON_TARGET: "expired_on_target",
    _EXPIRED_ON_SOURCE: "expired_on_source",
    _NOT_READ: "not_read",
    _UNDECIDED: "undecided",
}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known about a partition in addition to its two logs.

    :param late_before: milliseconds since the epoch; an older record has to be on the target
    :param compacted: whether either topic is compacted; ``None`` if that is not known
    :param aborted: the records of the source whose transactions were aborted, as far as they were read
    :param settled: next to compare on source and target, where audits have settled everything before; ``None`` if
        they know nothing of the partition
    :param undecided: ranges of the source with records of open transactions
    :param living: looks for values of keys before what was read. Where nobody looks, a deletion that one cluster lacks
        counts as compacted if that cluster has no record of its key in what was read
    """

    late_before: int
    compacted: bool | None = False
    aborted: Collection[Parts] = frozenset()
    settled: tuple[int, int] | None = None
    undecided: Collection[OffsetRange] = ()
    living: Living = field(default=none_living, repr=False, compare=False)


def counted_as(difference: Difference) -> str:
    """Return as what the records of a difference are counted."""
    if difference.kind.startswith("CORRUPT"):
        return "corrupted"
    if difference.kind is FindingKind.DUPLICATE:
        return "duplicated"
    otherwise = "unexplained" if difference.kind is FindingKind.UNVERIFIABLE else difference.kind.lower()
    return _COUNTED.get(difference.detail, otherwise)


class Meaning:
    """Judges the records of one partition that have no counterpart.

    :param blocks: of equal records
    """

    def __init__(
        self, pair: NumberedPair, source: ReadLog, target: ReadLog, known: Circumstances, blocks: Sequence[Block]
    ) -> None:
        self._pair, self._source, self._target, self._known = pair, source, target, known
        self._tail = len(blocks)
        self._keyed = KeyedPair((_keyed(source), _keyed(target)), blocks)
        self._gaps = [] if known.compacted is False else list(self._keyed.gaps())
        self._left: tuple[Collection[int] | None, Collection[int] | None] = (None, None)
        self._explained: dict[tuple[int, Side], Collection[int]] = {}
        self._oldest = source.records[0].time if source.records else 0
        #: From where on the counterpart of a record cannot be older than what was read.
        self._settled = known.settled if known.settled and _reaches(source, target, known.settled) else None
        self._aborted = {parts._replace(timestamp=None) if pair.timeless else parts for parts in known.aborted}

    def leaves(self, source: Iterable[UnmatchedRecord], target: Iterable[UnmatchedRecord]) -> None:
        """Note which records are left to judge: what became of the others is known."""
        self._left = {record.ordinal for record in source}, {record.ordinal for record in target}
        self._explained.clear()

    @property
    def rules(self) -> OneSidedRules:
        """Both rules, in the form in which differences are judged."""
        return OneSidedRules(self.on_missing, self.on_foreign)

    def on_missing(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the source has."""
        if any(record.offset in each for each in self._known.undecided):
            return FindingKind.IN_FLIGHT, _UNDECIDED
        if record.gap == self._tail and record.timestamp >= self._known.late_before:
            return FindingKind.IN_FLIGHT, ""
        if record.gap == 0 and not self._target.from_first and not self._is_later(record, 0):
            return FindingKind.UNVERIFIABLE, _EXPIRED_ON_TARGET if self._target.whole else _NOT_READ
        if record.gap == self._tail:
            return FindingKind.LATE, ""
        replaced = self._replaced(0, record)
        return replaced or (FindingKind.LOST, "")

    def on_foreign(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the target has."""
        if self._aborted and self._pair.parts(self._target.records[record.ordinal]) in self._aborted:
            return FindingKind.FOREIGN, _ABORTED
        if record.gap == 0 and not self._source.from_first and not self._is_later(record, 1):
            return FindingKind.UNVERIFIABLE, _EXPIRED_ON_SOURCE if self._source.whole else _NOT_READ
        if not self._source.from_first and (self._pair.timeless or record.timestamp < self._oldest):
            return FindingKind.UNVERIFIABLE, _PERHAPS_OLDER
        replaced = self._replaced(1, record)
        return replaced or (FindingKind.FOREIGN, "")

    def _is_later(self, record: UnmatchedRecord, cluster: int) -> bool:
        """Return whether a record is after what audits have settled.

        :param cluster: 0 for the source, 1 for the target
        """
        return self._settled is not None and record.offset >= self._settled[cluster]

    def _replaced(self, cluster: Side, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say whether compaction may have removed the counterpart of a record of this cluster from the other one."""
        if self._known.compacted is False or record.ordinal not in self._explained_in(record.gap, cluster):
            return None
        return FindingKind.UNVERIFIABLE, _PERHAPS_COMPACTED if self._known.compacted is None else _COMPACTED

    def _explained_in(self, gap: int, cluster: Side) -> Collection[int]:
        if (gap, cluster) not in self._explained:
            found = self._keyed.explained(self._gaps[gap], cluster, self._known.living, self._left[cluster])
            self._explained[gap, cluster] = frozenset(found)
        return self._explained[gap, cluster]


def _keyed(log: ReadLog) -> KeyedLog:
    records = [KeyedRecord(each.offset, each.parts.key, each.parts.value is None) for each in log.records]
    return KeyedLog(records, log.read)


def _reaches(source: ReadLog, target: ReadLog, settled: tuple[int, int]) -> bool:
    """Return whether both logs were read from where they are settled on, or from before."""
    return source.read.start <= settled[0] and target.read.start <= settled[1]
