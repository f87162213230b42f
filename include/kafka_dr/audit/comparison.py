"""Compares two ranges of log record by record, in their order. :mod:`kafka_dr.audit.copies` says what a copy is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.audit.copies import Entry, is_copy

#: How many records are searched for a record that the other cluster does not have at the same position.
_LOOK_AHEAD = 1_000


#: ``equal``: the whole range of the source was matched; ``target_ended``: the target's range ended first; the others
#: say what was found after the matched records.
Outcome = Literal["equal", "target_ended", "lost", "foreign", "different"]


@dataclass(frozen=True, slots=True)
class EqualStart:
    """How far two ranges are equal.

    :param matched: records that were matched one by one, from the start
    :param outcome: why matching stopped
    :param records: how many are lost or foreign; 0 with other outcomes
    """

    matched: int
    outcome: Outcome
    records: int = 0


def compare(source: Sequence[Entry], target: Sequence[Entry]) -> EqualStart:
    """Match records one by one, up to the end of the source's range or to the first difference."""
    matched = 0
    for original, copy in zip(source, target, strict=False):
        if not is_copy(original, copy):
            break
        matched += 1
    if matched == len(source):
        return EqualStart(matched, "equal")
    if matched == len(target):
        return EqualStart(matched, "target_ended")
    lost = to_original(target[matched], source, matched)
    foreign = to_copy(source[matched], target, matched)
    if lost is not None and foreign is None:
        return EqualStart(matched, "lost", lost)
    if foreign is not None and lost is None:
        return EqualStart(matched, "foreign", foreign)
    # Neither of the two records comes later, or both do: their order was changed.
    return EqualStart(matched, "different")


def to_original(copy: Entry, source: Sequence[Entry], start: int) -> int | None:
    """Return how many records follow ``start`` on the source before the original of a copy; ``None`` without one."""
    return _distance(source, start, lambda entry: is_copy(entry, copy))


def to_copy(original: Entry, target: Sequence[Entry], start: int) -> int | None:
    """Return how many records follow ``start`` on the target before the copy of an original; ``None`` without one."""
    return _distance(target, start, lambda entry: is_copy(original, entry))


def _distance(entries: Sequence[Entry], start: int, wanted: Callable[[Entry], bool]) -> int | None:
    for number in range(start, min(len(entries), start + _LOOK_AHEAD)):
        if wanted(entries[number]):
            return number - start
    return None
