"""What can be different about a copy, and which difference it is.

A record that was not matched in order is *loose*. Places count records, offsets are *of* a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class Fault(StrEnum):
    """What is wrong with one record of a copy, or with a run of them."""

    LOST = "LOST"
    DUPLICATE = "DUPLICATE"
    REPLAY = "REPLAY"
    CORRUPT_VALUE = "CORRUPT_VALUE"
    CORRUPT_KEY = "CORRUPT_KEY"
    CORRUPT_HEADER = "CORRUPT_HEADER"
    CORRUPT_TIMESTAMP = "CORRUPT_TIMESTAMP"
    CORRUPT_UNKNOWN = "CORRUPT_UNKNOWN"
    REORDERED = "REORDERED"
    MOVED = "MOVED"
    FOREIGN = "FOREIGN"
    IN_FLIGHT = "IN_FLIGHT"
    LATE = "LATE"
    UNVERIFIABLE = "UNVERIFIABLE"


class Loose(NamedTuple):
    """A record that was not matched in order.

    :param place: which record of its partition and side it is, counted from the first one compared
    :param gap: between which two blocks it lies, counted from 0
    :param timestamp: milliseconds since the epoch
    """

    partition: int
    place: int
    gap: int
    offset: int
    timestamp: int
    hash: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One fault, or a run of the same one.

    :param partition: on the source, or on the target where the source has no such record
    :param source_offset: of the first record on the source; ``None`` where there is none
    :param target_offset: of the first record on the target; ``None`` where there is none
    :param count: records of the run
    :param timestamp: of its first record, milliseconds since the epoch
    """

    fault: Fault
    partition: int
    source_offset: int | None
    target_offset: int | None
    count: int
    timestamp: int
    detail: str = ""


class Suspects(NamedTuple):
    """Loose records in the place of each other: corrupt ones, or lost ones where strange ones came."""

    source: tuple[Loose, ...]
    target: tuple[Loose, ...]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known about a partition beside its records.

    :param verdict_on_missing: what a record that only the source has is, with a detail; ``None`` if nothing is wrong
    :param verdict_on_strange: the same of a record that only the target has
    :param turning_offsets: of two records in a row in the same gap the verdict is another one only if one of these
        offsets lies between them, next to read,
    :param turning_times: or one of these times, in milliseconds since the epoch
    """

    verdict_on_missing: Callable[[Loose], tuple[Fault, str] | None]
    verdict_on_strange: Callable[[Loose], tuple[Fault, str] | None]
    turning_offsets: tuple[int, ...] = ()
    turning_times: tuple[int, ...] = ()


class Step(NamedTuple):
    """A difference of one record, and its places."""

    source: int | None
    target: int | None
    difference: Difference


def one_sided(
    source: Iterable[Loose], target: Iterable[Loose], circumstances: Mapping[int, Circumstances]
) -> list[Difference]:
    """Judge records that nothing on the other side explains."""
    found = []
    for record in source:
        verdict = circumstances[record.partition].verdict_on_missing(record)
        if verdict is not None:
            found.append(step(*verdict, source=record, target=None))
    for record in target:
        verdict = circumstances[record.partition].verdict_on_strange(record)
        if verdict is not None:
            found.append(step(*verdict, source=None, target=record))
    return runs(found)


def runs(steps: Iterable[Step]) -> list[Difference]:
    """Join differences of one record each that follow each other on both sides."""
    joined: list[Difference] = []
    before: Step | None = None
    for step in steps:
        if before is not None and _follows(before, step):
            joined[-1] = replace(joined[-1], count=joined[-1].count + 1)
        else:
            joined.append(step.difference)
        before = step
    return joined


def _follows(before: Step, step: Step) -> bool:
    def next_to(earlier: int | None, later: int | None) -> bool:
        return earlier is later is None or (earlier is not None and later == earlier + 1)

    one, other = before.difference, step.difference
    alike = (one.fault, one.partition, one.detail) == (other.fault, other.partition, other.detail)
    return alike and next_to(before.source, step.source) and next_to(before.target, step.target)


def step(fault: Fault, detail: str, *, source: Loose | None, target: Loose | None) -> Step:
    """Return the difference of one record, to be joined by :func:`runs`."""
    record = source or target
    assert record is not None, "a difference is about a record"  # noqa: S101
    difference = Difference(
        fault=fault,
        partition=record.partition,
        source_offset=None if source is None else source.offset,
        target_offset=None if target is None else target.offset,
        count=1,
        timestamp=record.timestamp,
        detail=detail,
    )
    return Step(None if source is None else source.place, None if target is None else target.place, difference)
