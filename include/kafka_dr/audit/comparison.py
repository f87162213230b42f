"""Comparing two stretches of log in lock step. Pure; what a copy is, :mod:`kafka_dr.audit.copies` says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.audit.copies import Entry, is_copy

#: How far a record is looked for when the other side has another one in its place.
_LOOK_AHEAD = 1_000


#: ``equal``: all of the source's stretch was matched; ``target_ended``: the target's stretch ended first;
#: the others say what stands in the way.
Outcome = Literal["equal", "target_ended", "lost", "foreign", "different"]


@dataclass(frozen=True, slots=True)
class EqualStart:
    """How far two stretches are equal.

    :param matched: records that were matched one by one, from the beginning
    :param outcome: why it ended there
    :param records: how many are lost or foreign; 0 with other outcomes
    """

    matched: int
    outcome: Outcome
    records: int = 0


def compare(source: Sequence[Entry], target: Sequence[Entry]) -> EqualStart:
    """Match records one by one until the source's are used up or something stands in the way."""
    matched = 0
    for here, there in zip(source, target, strict=False):
        if not is_copy(here, there):
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
    # Neither comes later, or both do: what should be in order was exchanged.
    return EqualStart(matched, "different")


def to_original(copy: Entry, source: Sequence[Entry], start: int) -> int | None:
    """Return how many records are between a place on the source and the next one that this is a copy of."""
    return _distance(source, start, lambda entry: is_copy(entry, copy))


def to_copy(original: Entry, target: Sequence[Entry], start: int) -> int | None:
    """Return how many records are between a place on the target and the next copy of this one, or ``None``."""
    return _distance(target, start, lambda entry: is_copy(original, entry))


def _distance(entries: Sequence[Entry], start: int, wanted: Callable[[Entry], bool]) -> int | None:
    for number in range(start, min(len(entries), start + _LOOK_AHEAD)):
        if wanted(entries[number]):
            return number - start
    return None
