"""What a record that only one cluster has means, given what is known about its partition."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_dr.audit.difference import OneSidedRules, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind

#: What a late record is that the flow has not read.
NOT_COPIED_YET = "the flow has not read it yet"


def may_still_come(offset: int, *, passed: int, hidden: bool) -> bool:
    """Return whether a record that was not found on the target may still come, rather than being lost.

    The order of the questions decides. The flow is asked first how far it is, then the target where its log ends: what
    the flow had passed by then has to be on the target, unless an open transaction hides it. In the other order, every
    record that is copied between the two questions would be called lost.

    :param offset: *of* the record on the source
    :param passed: next to be copied, asked before the target's end
    :param hidden: whether an open transaction hides records at the end of the target's log, asked in between
    """
    return hidden or offset >= passed


@dataclass(frozen=True, slots=True)
class PartitionCircumstances:
    """What was found out about one partition when its range was resolved.

    :param tail: the number of the gap after the last block: records in it may still come
    :param position: next to be read by the flow, asked before the target's end; ``None`` if it is not known
    :param held_back: whether an open transaction hides the end of the target's log
    :param young_from: milliseconds since the epoch; where ``position`` is not known, a younger record may still come
    :param expired_on_source: gaps in which the source has deleted records, unread, since the previous audit
    :param expired_on_target: gaps in which the target has, likewise
    :param shorter_source: whether the source had deleted its first records before the first audit; the target may still
        have their copies
    :param shorter_target: whether the target had, and the source may still have the originals
    :param late_before: milliseconds since the epoch; where nobody can be asked how far the flow is, what follows the
        last copy may always still come, and an older record is late; ``None``: the flow can be asked
    """

    tail: int
    position: int | None
    held_back: bool
    young_from: int
    expired_on_source: frozenset[int] = frozenset()
    expired_on_target: frozenset[int] = frozenset()
    shorter_source: bool = False
    shorter_target: bool = False
    late_before: int | None = None

    def may_still_come(self, offset: int, timestamp: int) -> bool:
        """Return whether a record after the last matched one is in flight, rather than passed over."""
        if self.position is None:
            return self.held_back or self.late_before is not None or timestamp >= self.young_from
        return may_still_come(offset, passed=self.position, hidden=self.held_back)

    def on_missing(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the source has."""
        if record.gap == self.tail and self.may_still_come(record.offset, record.timestamp):
            late = self.late_before is not None and record.timestamp < self.late_before
            return (FindingKind.LATE, NOT_COPIED_YET) if late else (FindingKind.IN_FLIGHT, "")
        if record.gap == 0 and self.shorter_target:
            return None
        if record.gap in self.expired_on_target:
            return FindingKind.UNVERIFIABLE, "the target deleted records at this offset before they were read"
        return FindingKind.LOST, ""

    def on_foreign(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the target has."""
        if record.gap == 0 and self.shorter_source:
            return None
        if record.gap in self.expired_on_source:
            return FindingKind.UNVERIFIABLE, "the source deleted records at this offset before they were read"
        return FindingKind.FOREIGN, ""

    @property
    def rules(self) -> OneSidedRules:
        """Both rules, in the form in which differences are judged."""
        return OneSidedRules(
            self.on_missing,
            self.on_foreign,
            turning_offsets=() if self.position is None else (self.position,),
            turning_times=self._turning_times,
        )

    @property
    def _turning_times(self) -> tuple[int, ...]:
        if self.late_before is not None:
            return (self.late_before,)
        return (self.young_from,) if self.position is None else ()
