"""Comparing one partition, from where it stopped to where it is told to go. Pure: it says what to read, is shown it.

Nothing is called equal that was not read on both sides, and nothing that expired is passed over in silence: only at
the very beginning of both logs, where one side may have kept more than the other, are such records left out, counted.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.audit.comparison import EqualStart, compare, to_copy, to_original
from kafka_dr.audit.copies import Entry, is_copy
from kafka_dr.audit.finding import FindingKind, FirstDifference, Verified
from kafka_dr.audit.store import FrontierPoint
from kafka_dr.positions import OffsetRange, SeedPoint, TopicPartition

_STRIDE = 10_000
#: Offsets on the target beyond twice the source's: replication may write a marker after each record.
_ROOM = 256


class Walk:
    """One partition on its way to an offset.

    :param until: next to verify on the source
    :param place: how far it got before; ``None`` where comparing begins
    :param start: where it begins; the start of both logs where ``None``
    :param source: the offsets that the source holds
    :param target: the offsets that the target holds
    :param stride: source offsets that are compared in one go
    """

    def __init__(
        self,
        partition: TopicPartition,
        *,
        until: int,
        place: FrontierPoint | None,
        start: SeedPoint | None,
        source: OffsetRange,
        target: OffsetRange,
        stride: int = _STRIDE,
    ) -> None:
        self.partition = partition
        self.finding: FirstDifference | None = None
        self._source_start, self._target_start = source.start, target.start
        self._target_end = target.end
        self._stride = stride
        self._until = min(until, source.end)
        #: Whether the logs' own starts are where it begins: there, one side may have kept more than the other.
        self._from_start = place is None and start is None
        if place is not None:
            self.place = place
        elif start is not None:
            self.place = FrontierPoint(start.source, start.target)
        else:
            self.place = FrontierPoint(self._source_start, self._target_start)
        self._reach = 2 * stride + _ROOM
        self._refuse_expired()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to read."""
        return self.finding is not None or self.place.source_offset >= self._until

    @property
    def verified(self) -> Verified:
        """How far it got."""
        place = self.place
        return Verified(
            self.partition, place.source_offset, place.target_offset, place.records, self.finding, place.skipped
        )

    def source_window(self) -> OffsetRange:
        """Return what to read of the source next."""
        start = self.place.source_offset
        return OffsetRange(start, min(self._until, start + self._stride))

    def target_window(self) -> OffsetRange:
        """Return what to read of the target next."""
        start = min(self.place.target_offset, self._target_end)
        return OffsetRange(start, min(self._target_end, start + self._reach))

    def look(self, source: list[Entry], target: list[Entry]) -> None:
        """Take in what lies in both windows."""
        window, reached_end = self.source_window(), self.target_window().end == self._target_end
        if self._from_start and source and target and not is_copy(source[0], target[0]):
            source, target = self._skip_expired(source, target)
        found = compare(source, target)
        self._from_start = self._from_start and not found.matched
        if found.outcome == "equal":
            at_end = reached_end and found.matched == len(target)
            after = self._target_end if at_end else self._after(target, found)
            self._move(window.end, max(after, self.place.target_offset), found.matched)
            return
        if found.matched:
            self._move(source[found.matched - 1].offset + 1, self._after(target, found), found.matched)
        if found.outcome == "target_ended" and not reached_end:
            self._reach *= 4
            return
        self._report(found, source[found.matched].offset, target, found.matched)

    def _after(self, target: list[Entry], found: EqualStart) -> int:
        return target[found.matched - 1].offset + 1 if found.matched else self.place.target_offset

    def _move(self, source_offset: int, target_offset: int, records: int) -> None:
        place = self.place
        self.place = replace(
            place, source_offset=source_offset, target_offset=target_offset, records=place.records + records
        )

    def _skip_expired(self, source: list[Entry], target: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Leave out records at the beginning that only one side has because those of the other expired."""
        on_target = to_copy(source[0], target, 0) if self._source_start > 0 else None
        on_source = to_original(target[0], source, 0) if self._target_start > 0 else None
        self.place = replace(self.place, skipped=self.place.skipped + (on_target or on_source or 0))
        return source[on_source or 0 :], target[(on_target or 0) :]

    def _refuse_expired(self) -> None:
        place = self.place
        if self.done:
            return
        sides = (
            ("source", place.source_offset, self._source_start),
            ("target", place.target_offset, self._target_start),
        )
        for side, offset, start in sides:
            if offset < start:
                sentence = (
                    f"the {side}'s records from {offset} to {start} expired before they were compared: nothing can be "
                    "said about them; compare more often, or keep them longer"
                )
                self._found(FindingKind.UNVERIFIABLE, place.source_offset, place.target_offset, None, sentence)
                return

    def _report(self, found: EqualStart, source_offset: int, target: list[Entry], at: int) -> None:
        target_offset = target[at].offset if at < len(target) else self._target_end
        both = f"source offset {source_offset}, target offset {target_offset}"
        match found.outcome:
            case "target_ended":
                sentence = f"the target ends at {target_offset} and lacks the source's record {source_offset}"
                self._found(FindingKind.MISSING, source_offset, target_offset, None, sentence)
            case "lost":
                sentence = f"{found.records} records of the source are not on the target, from {both} on"
                self._found(FindingKind.LOST, source_offset, target_offset, found.records, sentence)
            case "foreign":
                sentence = f"{found.records} records on the target did not come from the source, from {both} on"
                self._found(FindingKind.FOREIGN, source_offset, target_offset, found.records, sentence)
            case _:
                sentence = f"the target holds another record in the place of the source's: {both}"
                self._found(FindingKind.DIFFERENT, source_offset, target_offset, None, sentence)

    def _found(
        self, kind: FindingKind, source_offset: int, target_offset: int, records: int | None, sentence: str
    ) -> None:
        self.finding = FirstDifference(kind, self.partition, source_offset, target_offset, records, sentence)
