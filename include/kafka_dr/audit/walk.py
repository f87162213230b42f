"""Compares one partition from the last verified offset to a given one. Pure: it says what to read, and is given it.

No record is called equal that was not read on both clusters. Records that expired before they were compared are a
finding, except at the very start of both logs, where one cluster may have kept more than the other: these are counted.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.audit.comparison import EqualStart, compare, to_copy, to_original
from kafka_dr.audit.copies import Entry, is_copy
from kafka_dr.audit.finding import FindingKind, FirstDifference, Verified
from kafka_dr.audit.kept_frontier import FrontierPoint
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

_STRIDE = 10_000
#: Offsets on the target beyond twice the source's: replication may write a marker after each record.
_ROOM = 256


class Walk:
    """The comparison of one partition.

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
        #: Whether comparing begins at the starts of the logs, where one cluster may have kept more than the other.
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
    def verified(self) -> Verified:
        """How far the partition is verified."""
        point = self.point
        return Verified(
            self.partition, point.source_offset, point.target_offset, point.records, self.finding, point.skipped
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

    def look(self, source: list[Entry], target: list[Entry]) -> None:
        """Compare the records of both windows."""
        window, reached_end = self.source_window(), self.target_window().end == self._target_end
        if self._from_start and source and target and not is_copy(source[0], target[0]):
            source, target = self._skip_expired(source, target)
        found = compare(source, target)
        self._from_start = self._from_start and not found.matched
        if found.outcome == "equal":
            at_end = reached_end and found.matched == len(target)
            after = self._target_end if at_end else self._after(target, found)
            self._move(window.end, max(after, self.point.target_offset), found.matched)
            return
        if found.matched:
            self._move(source[found.matched - 1].offset + 1, self._after(target, found), found.matched)
        if found.outcome == "target_ended" and not reached_end:
            self._reach *= 4
            return
        self._report(found, source[found.matched].offset, target, found.matched)

    def _after(self, target: list[Entry], found: EqualStart) -> int:
        return target[found.matched - 1].offset + 1 if found.matched else self.point.target_offset

    def _move(self, source_offset: int, target_offset: int, records: int) -> None:
        point = self.point
        self.point = replace(
            point, source_offset=source_offset, target_offset=target_offset, records=point.records + records
        )

    def _skip_expired(self, source: list[Entry], target: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Leave out records at the start of one log whose counterparts have expired on the other cluster."""
        on_target = to_copy(source[0], target, 0) if self._source_start > 0 else None
        on_source = to_original(target[0], source, 0) if self._target_start > 0 else None
        self.point = replace(self.point, skipped=self.point.skipped + (on_target or on_source or 0))
        return source[on_source or 0 :], target[(on_target or 0) :]

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
                self._found(FindingKind.UNVERIFIABLE, point.source_offset, point.target_offset, None, sentence)
                return

    def _report(self, found: EqualStart, source_offset: int, target: list[Entry], at: int) -> None:
        target_offset = target[at].offset if at < len(target) else self._target_end
        both = f"source offset {source_offset}, target offset {target_offset}"
        match found.outcome:
            case "target_ended":
                sentence = (
                    f"the target's log ends at offset {target_offset}, without the source's record {source_offset}"
                )
                self._found(FindingKind.MISSING, source_offset, target_offset, None, sentence)
            case "lost":
                sentence = f"{found.records} records of the source are not on the target, from {both} on"
                self._found(FindingKind.LOST, source_offset, target_offset, found.records, sentence)
            case "foreign":
                sentence = f"{found.records} records on the target are not copies of the source, from {both} on"
                self._found(FindingKind.FOREIGN, source_offset, target_offset, found.records, sentence)
            case _:
                sentence = f"the target has a record that differs from the source's: {both}"
                self._found(FindingKind.DIFFERENT, source_offset, target_offset, None, sentence)

    def _found(
        self, kind: FindingKind, source_offset: int, target_offset: int, records: int | None, sentence: str
    ) -> None:
        self.finding = FirstDifference(kind, self.partition, source_offset, target_offset, records, sentence)
