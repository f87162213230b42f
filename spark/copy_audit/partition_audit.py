"""The audit of one partition: its records aligned, its differences settled, and every offset of the source counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from copy_audit.arrivals import MOST_COMPARED, Arrivals
from copy_audit.compaction import CompactedAway, Living, superseded
from copy_audit.digests import digests
from copy_audit.expired import ExpiredOffsets
from copy_audit.fingerprints import Fingerprints, Longs, RecordLog, runs
from copy_audit.in_flight import InFlightRecords
from copy_audit.matching import AlignedPartition, compare
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.second_copies import second_copies
from copy_audit.unmatched import UnmatchedRecords
from kafka_dr.audit.circumstances import PartitionCircumstances
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import REPEATED, Difference
from kafka_dr.audit.finding import FindingKind

#: Records at the end of the source that are looked at although they may still come: a foreign record at the end of the
#: target may be a changed copy of one of them.
_LOOKED_AT = 64
#: The record is on both clusters, and something is wrong with it. The first copy of a repeated record may be in another
#: partition.
_ARRIVED = frozenset(
    {
        FindingKind.CORRUPT_VALUE,
        FindingKind.CORRUPT_KEY,
        FindingKind.CORRUPT_HEADER,
        FindingKind.CORRUPT_TIMESTAMP,
        FindingKind.CORRUPT_UNKNOWN,
        FindingKind.REORDERED,
        FindingKind.MOVED,
    }
)


class PartitionAudit:
    """One partition, aligned. Its unmatched records are sorted: some need an explanation, the others do not."""

    def __init__(self, logs: PartitionLogs, *, compacted: bool, young_from: int, late_before: int) -> None:
        self.logs = logs
        self.compacted = compacted
        self._late_before = late_before
        matched = logs.matched
        self.comparison = (
            compare(logs.partition, logs.source, logs.target)
            if matched is None
            else AlignedPartition(logs.partition, logs.source, logs.target, matched.blocks)
        )
        self.unread = ExpiredOffsets(logs.source, logs.source_range, logs.first, logs.quarantined)
        self.circumstances = _facts(logs, self.comparison, self.unread, (young_from, late_before))
        self.missing, self.foreign = self.comparison.unmatched_source(), self.comparison.unmatched_target()
        self._target_end = self._judged_on_target()
        self.foreign = self.foreign.before(self._target_end)
        self.in_flight = self._in_flight(self.missing.indexes, self.foreign.indexes)
        nothing = np.empty(0, np.int64)
        self.gone = CompactedAway(nothing, nothing)
        self.arrivals = Arrivals(logs.partition, logs.missing)

    def _judged_on_target(self) -> int:
        """Return up to which offset of the target its records are judged.

        Some replicators copy records of transactions that are open. While one hides the end of the source's log, what
        follows the last copy on the target may be copies of what cannot be read.
        """
        end, (_, after) = self.logs.target_range.end, self.comparison.tail_indexes
        waits = self.logs.more_on_source and after < len(self.logs.target)
        return int(self.logs.target.offsets[after]) if waits else end

    def take_arrivals(self, other: PartitionAudit) -> None:
        """Take missing records of this partition from the unmatched records of another one's target."""
        other.foreign = self.arrivals.take(other.foreign, other.came_before)

    def came_before(self, indexes: Longs) -> Longs:
        """Return, for indexes of the target, next after the last record of the source that was matched before."""
        starts, targets, lengths = self.comparison.blocks.T
        blocks = np.searchsorted(targets, indexes) - 1
        ends = np.concatenate(
            (self.comparison.source.offsets[starts + lengths - 1] + 1, [self.logs.source_range.start])
        )
        return ends[blocks]

    def excuse(self, living: Living) -> None:
        """Leave out the records that need no explanation."""
        if self.compacted:
            # What may still come is left out: counted twice, the coverage would not add up.
            missed = np.setdiff1d(self.missing.indexes, self.in_flight, assume_unique=True)
            self.gone = superseded(self.comparison, self.logs, (missed, self.foreign.indexes), living)
        self.missing = self.missing.other_than(self.gone.source).other_than(self.in_flight)
        self.foreign = self.foreign.other_than(self.gone.target).since(self.logs.left_over)

    def without_changed_arrivals(self, differences: Sequence[Difference], lookups: AuditLookups) -> list[Difference]:
        """Take changed copies of missing records from the foreign ones, and return all other differences."""
        foreign: list[Difference] = []
        others: list[Difference] = []
        for each in differences:
            is_foreign = each.kind is FindingKind.FOREIGN and each.partition == self.logs.partition
            (foreign if is_foreign else others).append(each)
        if not len(self.arrivals.missing) or not foreign:
            return list(differences)
        log, starts = self.comparison.target, self.comparison.blocks[:, 1]
        indexes = np.sort(_indexes(log, [(d.target_offset, d.count) for d in foreign]))
        # There may be as many as the topic has records; those that cannot be compared do not become objects.
        records = UnmatchedRecords(self.logs.partition, log, indexes[:MOST_COMPARED], starts).records()
        left = [record.ordinal for record in self.arrivals.take_changed(records, lookups.payloads)]
        return [*others, *self._foreign(np.concatenate((np.array(left, np.int64), indexes[MOST_COMPARED:])))]

    def _foreign(self, indexes: Longs) -> list[Difference]:
        """Return records of the target that are not copies of anything, in runs.

        :param indexes: rising
        """
        if not len(indexes):
            return []
        log, partition = self.comparison.target, self.logs.partition
        offsets, times = log.offsets[indexes], log.timestamps[indexes]
        return [
            Difference(FindingKind.FOREIGN, partition, None, int(offsets[row]), count, int(times[row]))
            for row, count in runs(np.diff(indexes) == 1)
        ]

    def _in_flight(self, source: Longs, target: Longs) -> Longs:
        """Return the indexes of records that may still come, and that no record of the target can be a copy of."""
        comparison, facts = self.comparison, self.circumstances
        tail_source, tail_target = comparison.tail_indexes
        tail = source[source >= tail_source]
        if facts.position is None:
            strangers = target[target >= tail_target]
            tail = tail[len(strangers) + (_LOOKED_AT if len(strangers) else 0) :]
        log = comparison.source
        if facts.held_back:
            return tail
        if facts.position is not None:
            return tail[log.offsets[tail] >= facts.position]
        if self.logs.observed:
            return tail
        # An old record was passed over, and so was every record before it.
        old = np.flatnonzero(log.timestamps[tail] < facts.young_from)
        return tail[old[-1] + 1 if len(old) else 0 :]

    def outcome(self, differences: Sequence[Difference], arrivals: Sequence[Difference]) -> PartitionOutcome:
        """Return what is known about the partition now.

        :param arrivals: missing records that have come; they belong to what earlier audits compared
        """
        log, end = self.comparison.source, self.logs.source_range.end
        # These have no record that could be counted; their offsets count as expired.
        unread = self._never_copied()
        on_its_way = InFlightRecords(
            log, self.in_flight, self.logs.position, self.logs.seen_below, self._late_before, self.logs.observed
        )
        found = sorted([*_none_on_its_way(differences), *unread], key=_source_first)
        coming = [d.source_offset for d in found if _may_come(d) and d.source_offset is not None]
        coming += log.offsets[self.in_flight[:1]].tolist()
        resume = min(coming, default=end)
        waiting = [
            d
            for d in found
            if d.source_offset is not None and d.source_offset >= resume and _only_on_source(d) and d not in unread
        ]
        waiting += on_its_way.differences(self.logs.partition)
        settled = [d for d in found if d not in waiting]
        frontier = self._frontier([*settled, *waiting], resume)
        return PartitionOutcome(
            partition=self.logs.partition,
            matched=self.comparison.matched,
            settled=(*settled, *arrivals),
            waiting=tuple(waiting),
            settled_coverage=self._coverage(
                self.logs.source_range.start, resume, [d for d in settled if d not in unread]
            )
            + _found_equal(arrivals),
            waiting_coverage=self._coverage(resume, end, [d for d in waiting if d not in unread]),
            frontier=frontier,
            resume=(resume, self._target_end),
            runs=tuple(self.comparison.runs()),
            unverified_since=self._unverified_since(frontier[0]),
            copied=self._copied(settled),
            displaced=self._displaced(settled),
            second_copies=second_copies(
                self.comparison.target,
                settled,
                self.gone.target,
                deleted=self.compacted or self.unread.headless or bool(self.circumstances.expired_on_source),
            ),
            digests=None
            if self.compacted
            else digests(log.below(resume), self.comparison.target.below(self._target_end), self.logs.matched),
            late=on_its_way.late,
            missing=self._missing([d for d in settled if d.kind is FindingKind.LOST and d not in unread]),
            came=self.arrivals.offsets,
        )

    def _copied(self, settled: Sequence[Difference]) -> tuple[int, int] | None:
        """Return up to where there are copies, also changed ones and those in another order."""
        arrived = [d for d in settled if d.kind in _ARRIVED and d.source_offset is not None]
        log = self.comparison.source
        last = _indexes(log, [(d.source_offset, d.count) for d in arrived])
        until = [int(log.offsets[last.max()]) + 1] if len(last) else []
        if self.comparison.matched_until is not None:
            until.append(self.comparison.matched_until)
        return (max(until), self._target_end) if until else None

    def _displaced(self, settled: Sequence[Difference]) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
        """Return where records are in another order: their ranges on the source and on the target."""
        logs = self.comparison.source, self.comparison.target
        found = []
        for each in (d for d in settled if d.kind is FindingKind.REORDERED):
            both = [
                _span(log, at, each.count)
                for log, at in zip(logs, (each.source_offset, each.target_offset), strict=True)
            ]
            found.append((both[0], both[1]))
        return tuple(found)

    def _missing(self, lost: Sequence[Difference]) -> Fingerprints:
        """Return the missing records that have not come, and those that are lost now."""
        log = self.comparison.source
        now = log.at(_indexes(log, [(d.source_offset, d.count) for d in lost]))
        return Fingerprints.joined([self.arrivals.missing, replace(now, keys=None)])

    def _never_copied(self) -> list[Difference]:
        """Return what the source deleted before the flow had read it, as far as that is certain."""
        found = []
        position = self.logs.position
        for start, end in self.unread.holes:
            gap = self.comparison.gap_at(start)
            copies = int((self.foreign.gaps == gap).sum()) if gap >= 0 else 0
            beginning = self.logs.first and start == 0
            lost_from = start + copies if not beginning else end
            # Nothing was copied yet: what a first audit finds deleted may have been deleted before the flow existed.
            if position is not None and position < end and not (beginning and position == 0):
                lost_from = max(start, position)
            if gap == self.comparison.tail and position is None:
                lost_from = end  # what the flow did since is not known, and no record follows
            if lost_from < end:
                detail = (
                    "deleted on the source before they were copied; the count is an upper limit, with control records"
                )
                found.append(
                    Difference(FindingKind.LOST, self.logs.partition, lost_from, None, end - lost_from, 0, detail)
                )
        return [*found, *self._perhaps_not_copied()]

    def _perhaps_not_copied(self) -> list[Difference]:
        """Return what the source deleted while it was being read, from the flow's position on.

        The flow had read the records below its position, which was asked first, when all of them still existed. Whether
        it had read the others is not known. Without a position, it had read as far as its copies match.
        """
        start, end = self.logs.source_range.vanished
        read = self.comparison.matched_until if self.logs.position is None else self.logs.position
        start = max(start, read or 0)
        if start >= end:
            return []
        count = self.unread.vanished_between(start, end)
        detail = "deleted on the source during the audit, perhaps before they were copied; the count is an upper limit"
        return (
            [Difference(FindingKind.UNVERIFIABLE, self.logs.partition, start, None, count, 0, detail)] if count else []
        )

    def _coverage(self, start: int, end: int, differences: Sequence[Difference]) -> Coverage:
        """Account for every offset of a range of the source."""
        indexes = slice(*self.comparison.source.index_of((start, end)).tolist())
        records = indexes.stop - indexes.start
        expired = self.unread.between(start, end)
        gone = int(((self.gone.source >= indexes.start) & (self.gone.source < indexes.stop)).sum())
        in_flight = sum(d.count for d in differences if d.kind is FindingKind.IN_FLIGHT)
        differing = sum(
            d.count for d in differences if d.kind not in REPEATED | {FindingKind.IN_FLIGHT, FindingKind.FOREIGN}
        )
        differing -= sum(d.count for d in differences if d.source_offset is None and d.kind is FindingKind.UNVERIFIABLE)
        matched = self._matched_within(indexes)
        excused = records - gone - in_flight - differing - matched
        excluded = self._left_out(start, end)
        without_record = end - start - records - expired - excluded
        return Coverage(
            produced=end - start,
            verified=matched,
            differing=differing,
            in_flight=in_flight,
            expired=expired + (excused if self.circumstances.shorter_target else 0),
            control=0 if self.compacted else without_record,
            compacted=gone + (without_record if self.compacted else 0),
            excluded=excluded,
        )

    def _left_out(self, start: int, end: int) -> int:
        """Count the offsets of a range that were left out; those that had expired do not count."""
        count = 0
        for first, after in self.logs.quarantined:
            low, high = max(start, first), min(end, after)
            gone = (max(0, min(high, hole_end) - max(low, hole)) for hole, hole_end in self.unread.holes)
            count += max(0, high - low) - sum(gone)
        return max(0, count)

    def _matched_within(self, indexes: slice) -> int:
        starts, lengths = self.comparison.blocks[:, 0], self.comparison.blocks[:, 2]
        ends = np.minimum(starts + lengths, indexes.stop)
        return int(np.maximum(ends - np.maximum(starts, indexes.start), 0).sum())

    def _frontier(self, differences: Sequence[Difference], resume: int) -> tuple[int, int]:
        """Return the first offsets that are not verified; repetitions and late copies do not hold it back."""
        late = {each.target.offset for each in self.arrivals.found if each.target.partition == self.logs.partition}
        offsets = [d.source_offset for d in differences if d.source_offset is not None and d.kind not in REPEATED]
        source = min([*offsets, resume])
        index = int(self.comparison.source.index_of(source))
        blocks = self.comparison.blocks
        before = int(np.searchsorted(blocks[:, 0], index)) - 1
        log = self.comparison.target
        after = 0
        if before >= 0:
            start, target, length = blocks[before].tolist()
            after = target + min(length, index - start)
        while after < len(log) and int(log.offsets[after]) in late:
            after += 1
        return source, int(log.offsets[after - 1]) + 1 if after else self.logs.target_range.start

    def _unverified_since(self, frontier: int) -> int | None:
        """Return the timestamp of the first unverified record, in milliseconds; ``None`` if all are verified."""
        log = self.comparison.source
        index = int(log.index_of(frontier))
        return int(log.timestamps[index]) if index < len(log) else None


def _facts(
    logs: PartitionLogs, comparison: AlignedPartition, on_source: ExpiredOffsets, times: tuple[int, int]
) -> PartitionCircumstances:
    young_from, late_before = times
    on_target = ExpiredOffsets(logs.target, logs.target_range, logs.first)
    source_starts, target_starts, lengths = comparison.blocks.T
    return PartitionCircumstances(
        tail=comparison.tail,
        position=logs.position,
        held_back=logs.held_back,
        young_from=young_from,
        expired_on_source=on_source.gaps(source_starts, lengths),
        expired_on_target=on_target.gaps(target_starts, lengths),
        shorter_source=on_source.headless,
        shorter_target=on_target.headless,
        late_before=late_before if logs.observed else None,
    )


def _none_on_its_way(differences: Sequence[Difference]) -> list[Difference]:
    """Call an in-flight record lost if a later record has arrived: the flow has passed over it."""
    arrived = max(
        (d.source_offset for d in differences if d.kind in _ARRIVED and d.source_offset is not None), default=-1
    )
    return [
        replace(d, kind=FindingKind.LOST, detail="") if _may_come(d) and (d.source_offset or 0) < arrived else d
        for d in differences
    ]


def _may_come(difference: Difference) -> bool:
    """Return whether records are not copied yet; one that was reported lost and has come is late, too."""
    waits = difference.kind in (FindingKind.IN_FLIGHT, FindingKind.LATE)
    return waits and _only_on_source(difference)


def _found_equal(arrivals: Sequence[Difference]) -> Coverage:
    """Return the correction for earlier audits, which counted these lost records among those that differ."""
    late = sum(each.count for each in arrivals if each.kind is FindingKind.LATE)
    return Coverage(verified=late, differing=-late)


def _indexes(log: RecordLog, found: Sequence[tuple[int | None, int]]) -> Longs:
    """Return the indexes of runs of records.

    :param found: the offset of the first record of each run, and the length of the run
    """
    first = log.index_of([offset for offset, _ in found if offset is not None])
    parts = [np.arange(start, start + count) for start, (_, count) in zip(first.tolist(), found, strict=True)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _span(log: RecordLog, first: int | None, count: int) -> tuple[int, int]:
    """Return the offset of the first of some records in a row, and the one next after the last."""
    indexes = _indexes(log, [(first, count)])
    return int(log.offsets[indexes[0]]), int(log.offsets[indexes[-1]]) + 1


def _only_on_source(difference: Difference) -> bool:
    return difference.target_offset is None


def _source_first(difference: Difference) -> tuple[int, int]:
    source, target = difference.source_offset, difference.target_offset
    return -1 if source is None else source, -1 if target is None else target
