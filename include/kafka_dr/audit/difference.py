"""What can be different about a copy, and which difference it is.

A record that was not matched in order is *loose*. IndexedHashes count records, offsets are *of* a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class FindingKind(StrEnum):
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


class UnmatchedRecord(NamedTuple):
    """A record that was not matched in order.

    :param ordinal: which record of its partition and cluster it is, counted from the first one compared
    :param gap: between which two blocks it lies, counted from 0
    :param timestamp: milliseconds since the epoch
    """

    partition: int
    ordinal: int
    gap: int
    offset: int
    timestamp: int
    hash: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind, or a run of the same one.

    :param partition: on the source, or on the target where the source has no such record
    :param source_offset: of the first record on the source; ``None`` where there is none
    :param target_offset: of the first record on the target; ``None`` where there is none
    :param count: records of the run
    :param timestamp: of its first record, milliseconds since the epoch
    """

    kind: FindingKind
    partition: int
    source_offset: int | None
    target_offset: int | None
    count: int
    timestamp: int
    detail: str = ""


class Suspects(NamedTuple):
    """UnmatchedRecord records in the index of each other: corrupt ones, or lost ones where strange ones came."""

    source: tuple[UnmatchedRecord, ...]
    target: tuple[UnmatchedRecord, ...]


@dataclass(frozen=True, slots=True)
class OneSidedRules:
    """What is known about a partition beside its records.

    :param on_missing: what a record that only the source has is, with a detail; ``None`` if nothing is wrong
    :param on_foreign: the same of a record that only the target has
    :param turning_offsets: of two records in a row in the same gap the verdict is another one only if one of these
        offsets lies between them, next to read,
    :param turning_times: or one of these times, in milliseconds since the epoch
    """

    on_missing: Callable[[UnmatchedRecord], tuple[FindingKind, str] | None]
    on_foreign: Callable[[UnmatchedRecord], tuple[FindingKind, str] | None]
    turning_offsets: tuple[int, ...] = ()
    turning_times: tuple[int, ...] = ()


class RecordDifference(NamedTuple):
    """A difference of one record, and its indexes."""

    source: int | None
    target: int | None
    difference: Difference


def one_sided(
    source: Iterable[UnmatchedRecord], target: Iterable[UnmatchedRecord], rules: Mapping[int, OneSidedRules]
) -> list[Difference]:
    """Judge records that nothing on the other side explains."""
    found = []
    for record in source:
        verdict = rules[record.partition].on_missing(record)
        if verdict is not None:
            found.append(step(*verdict, source=record, target=None))
    for record in target:
        verdict = rules[record.partition].on_foreign(record)
        if verdict is not None:
            found.append(step(*verdict, source=None, target=record))
    return runs(found)


def runs(steps: Iterable[RecordDifference]) -> list[Difference]:
    """Join differences of one record each that follow each other on both sides."""
    joined: list[Difference] = []
    before: RecordDifference | None = None
    for step in steps:
        if before is not None and _follows(before, step):
            joined[-1] = replace(joined[-1], count=joined[-1].count + 1)
        else:
            joined.append(step.difference)
        before = step
    return joined


def _follows(before: RecordDifference, step: RecordDifference) -> bool:
    def next_to(earlier: int | None, later: int | None) -> bool:
        return earlier is later is None or (earlier is not None and later == earlier + 1)

    one, other = before.difference, step.difference
    alike = (one.kind, one.partition, one.detail) == (other.kind, other.partition, other.detail)
    return alike and next_to(before.source, step.source) and next_to(before.target, step.target)


def step(
    kind: FindingKind, detail: str, *, source: UnmatchedRecord | None, target: UnmatchedRecord | None
) -> RecordDifference:
    """Return the difference of one record, to be joined by :func:`runs`."""
    record = source or target
    assert record is not None, "a difference is about a record"  # noqa: S101
    difference = Difference(
        kind=kind,
        partition=record.partition,
        source_offset=None if source is None else source.offset,
        target_offset=None if target is None else target.offset,
        count=1,
        timestamp=record.timestamp,
        detail=detail,
    )
    return RecordDifference(
        None if source is None else source.ordinal, None if target is None else target.ordinal, difference
    )
