"""What a record that only one side has means, by what is known about its partition beside the records."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_dr.audit.difference import FindingKind, OneSidedRules, UnmatchedRecord


def may_still_come(offset: int, *, passed: int, hidden: bool) -> bool:
    """Return whether a record that was not found on the target may still come, rather than being lost.

    The order of questions decides. First the flow is asked how far it is, then the target where its log ends: what the
    flow had passed by then has to be there, unless an open transaction hides it. Asked the other way round, whatever
    crosses between the two questions would be called lost.

    :param offset: *of* the record on the source
    :param passed: next to be copied, asked before the target's end
    :param hidden: whether the target's log goes on after what its readers see, asked in between
    """
    return hidden or offset >= passed


@dataclass(frozen=True, slots=True)
class PartitionCircumstances:
    """What was found out about one partition when its range was resolved.

    :param tail: the number of the gap behind the last block: what lies there may still come
    :param position: next to be read by the flow, asked for before the target's end; ``None`` if nobody could tell
    :param held_back: whether an open transaction hides the end of the target's log
    :param young_from: milliseconds since the epoch; a younger record may still come, where ``position`` is not known
    :param expired_on_source: gaps in which the source deleted records since the audit before, unread
    :param expired_on_target: the same of the target
    :param shorter_source: whether the source had deleted its first records before the first audit: the target may
        still have them
    :param shorter_target: the same of the target
    """

    tail: int
    position: int | None
    held_back: bool
    young_from: int
    expired_on_source: frozenset[int] = frozenset()
    expired_on_target: frozenset[int] = frozenset()
    shorter_source: bool = False
    shorter_target: bool = False

    def may_still_come(self, offset: int, timestamp: int) -> bool:
        """Return whether a record behind the last one that was matched is on its way, rather than passed over."""
        if self.position is None:
            return self.held_back or timestamp >= self.young_from
        return may_still_come(offset, passed=self.position, hidden=self.held_back)

    def on_missing(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the source has."""
        if record.gap == self.tail and self.may_still_come(record.offset, record.timestamp):
            return FindingKind.IN_FLIGHT, ""
        if record.gap == 0 and self.shorter_target:
            return None
        if record.gap in self.expired_on_target:
            return FindingKind.UNVERIFIABLE, "the target deleted records there before they were read"
        return FindingKind.LOST, ""

    def on_foreign(self, record: UnmatchedRecord) -> tuple[FindingKind, str] | None:
        """Say what a record is that only the target has."""
        if record.gap == 0 and self.shorter_source:
            return None
        if record.gap in self.expired_on_source:
            return FindingKind.UNVERIFIABLE, "the source deleted records there before they were read"
        return FindingKind.FOREIGN, ""

    @property
    def rules(self) -> OneSidedRules:
        """The two, as whoever explains differences asks for them."""
        return OneSidedRules(
            self.on_missing,
            self.on_foreign,
            turning_offsets=() if self.position is None else (self.position,),
            turning_times=(self.young_from,) if self.position is None else (),
        )
