"""Compares one partition from the last verified offset to a given one. Pure: it says what to read, and is given it.

No record is called equal that was not read on both clusters. Records that expired before they were compared are a
finding, except at the very start of both logs, where one cluster may have kept more than the other: these are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_dr.audit.comparison import Outcome, compare, to_copy, to_original
from kafka_dr.audit.copies import Entry, is_copy
from kafka_dr.audit.finding import FindingKind, FirstDifference, Verified
from kafka_dr.audit.kept_frontier import FrontierPoint
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

_STRIDE = 10_000
#: By what was found after the matched records: its kind, the sentence about it, and whether records are counted.
_SAID: Mapping[Outcome, tuple[FindingKind, str, bool]] = {
    "target_ended": (
        FindingKind.MISSING,
        "the target's log ends at offset {target_offset}, without the source's record {source_offset}",
        False,
    ),
    "lost": (FindingKind.LOST, "{records} records of the source are not on the target, from {both} on", True),
    "foreign": (
        FindingKind.FOREIGN,
        "{records} records on the target are not copies of the source, from {both} on",
        True,
    ),
    "different": (FindingKind.DIFFERENT, "the target has a record that differs from the source's: {both}", False),
}
#: Offsets on the target beyond twice the source's: replication may write a marker after each record.
_ROOM = 256


class PartitionWalk:
    """How far one partition was compared, and what is compared next.

    :param until: next to verify on the source
    :param point: how far it was verified before; ``None`` if comparing begins now
    :param start: where comparing begins; ``None``: at the start of both logs
    :param source: the offsets that the source holds
    :param target: the offsets that the target holds
    :param stride: source offsets that are compared in one go
    """

    def __init__(
        self,
        partition: TopicPartition,
        *,
        until: int,
        point: FrontierPoint | None,
        start: SeedPoint | None,
        source: OffsetRange,
        target: OffsetRange,
        stride: int = _STRIDE,
    ) -> None:
        self.partition = partition
        self.finding: FirstDifference | None = None
        self._source_start, self._target_start = source.start, target.start
        self._source_end, self._target_end = source.end, target.end
        self._stride = stride
        self._until = min(until, source.end)
        self._from_start = point is None and start is None
        if point is not None:
            self.point = point
        elif start is not None:
            self.point = FrontierPoint(start.source, start.target)
        else:
            self.point = FrontierPoint(self._source_start, self._target_start)
        self._reach = 2 * stride + _ROOM
        self._refuse_expired()

    @property
    def done(self) -> bool:
        """Whether nothing is left to read."""
        return self.finding is not None or self.point.source_offset >= self._until

    @property
    def from_start(self) -> bool:
        """Whether comparing is still at the starts of the logs, where one cluster may have kept more than the other."""
        return self._from_start

    @property
    def verified(self) -> Verified:
        """How far the partition is verified."""
        point = self.point
        return Verified(
            self.partition,
            point.source_offset,
            point.target_offset,
            point.records,
            self.finding,
            point.skipped,
            point.compacted,
        )

    @property
    def is_at_both_ends(self) -> bool:
        """Whether the comparison is equal up to the ends of both logs: no record follows on either cluster."""
        at = self.point
        return self.finding is None and (at.source_offset, at.target_offset) == (self._source_end, self._target_end)

    def source_window(self) -> OffsetRange:
        """Return what to read of the source next."""
        start = self.point.source_offset
        return OffsetRange(start, min(self._until, start + self._stride))

    def target_window(self) -> OffsetRange:
        """Return what to read of the target next."""
        start = min(self.point.target_offset, self._target_end)
        return OffsetRange(start, min(self._target_end, start + self._reach))

    def _move(self, source_offset: int, target_offset: int, records: int, compacted: int = 0) -> None:
        """Move to next after records that were matched."""
        point = self.point
        self.point = FrontierPoint(
            source_offset, target_offset, point.records + records, point.skipped, point.compacted + compacted
        )

    def _pass_holes(self, source_offset: int, target_offset: int) -> None:
        """Move over offsets that have no record."""
        point = self.point
        after = max(target_offset, point.target_offset)
        self.point = replace(
            point,
            source_offset=source_offset,
            target_offset=after,
            source_holes=point.source_holes + source_offset - point.source_offset,
            target_holes=point.target_holes + after - point.target_offset,
        )

    def _refuse_expired(self) -> None:
        point = self.point
        if self.done:
            return
        logs = (
            ("source", point.source_offset, self._source_start),
            ("target", point.target_offset, self._target_start),
        )
        for cluster, offset, start in logs:
            if offset < start:
                sentence = (
                    f"the {cluster} deleted the records from offset {offset} to {start} before they were compared, so "
                    "they cannot be verified; compare more often, or raise the topic's retention"
                )
                self.finding = FirstDifference(
                    FindingKind.UNVERIFIABLE, self.partition, point.source_offset, point.target_offset, None, sentence
                )
                return

    def _found(self, outcome: Outcome, source_offset: int, target_offset: int, records: int = 0) -> None:
        self.finding = difference(self.partition, outcome, source_offset, target_offset, records)


class Walk(PartitionWalk):
    """The comparison of one partition, record by record; :class:`PartitionWalk` says what the parameters are."""

    def look(self, source: list[Entry], target: list[Entry]) -> None:
        """Compare the records of both windows."""
        window, reached_end = self.source_window(), self.target_window().end == self._target_end
        if self._from_start and source and target and not is_copy(source[0], target[0]):
            source, target = self._skip_expired(source, target)
        found = compare(source, target)
        self._from_start = self._from_start and not found.matched
        if found.matched:
            self._move(source[found.matched - 1].offset + 1, target[found.matched - 1].offset + 1, found.matched)
        if found.outcome == "equal":
            at_end = reached_end and found.matched == len(target)
            self._pass_holes(window.end, self._target_end if at_end else self.point.target_offset)
            return
        if found.outcome == "target_ended" and not reached_end:
            self._reach *= 4
            return
        on_target = target[found.matched].offset if found.matched < len(target) else self._target_end
        self._found(found.outcome, source[found.matched].offset, on_target, found.records)

    def _skip_expired(self, source: list[Entry], target: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Leave out records at the start of one log whose counterparts have expired on the other cluster."""
        on_target = to_copy(source[0], target, 0) if self._source_start > 0 else None
        on_source = to_original(target[0], source, 0) if self._target_start > 0 else None
        self.point = replace(self.point, skipped=self.point.skipped + (on_target or on_source or 0))
        return source[on_source or 0 :], target[(on_target or 0) :]


def difference(
    partition: TopicPartition, outcome: Outcome, source_offset: int, target_offset: int, records: int
) -> FirstDifference:
    """Return the first difference of a partition as a finding.

    :param source_offset: of the first record on the source without an equal copy, or next to read there
    :param target_offset: the same on the target
    """
    both = f"source offset {source_offset}, target offset {target_offset}"
    kind, sentence, counts = _SAID[outcome]
    said = sentence.format(records=records, both=both, source_offset=source_offset, target_offset=target_offset)
    return FirstDifference(kind, partition, source_offset, target_offset, records if counts else None, said)
