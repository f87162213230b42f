"""Differences between the two copies of a topic. Differences of single records are joined to runs.

A record that was not matched in order is *unmatched*. Offsets are *of* a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_dr.audit.finding import FindingKind

#: A record was copied more than once.
REPEATED = frozenset({FindingKind.DUPLICATE, FindingKind.REPLAY})


class UnmatchedRecord(NamedTuple):
    """A record that was not matched in order.

    :param ordinal: its number among the compared records of its partition and cluster, from 0
    :param gap: the number of the gap between two blocks that it is in, from 0
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
    """What is wrong with one record, or with several in a row.

    :param partition: on the source, or on the target if the source has no such record
    :param source_offset: of the first record on the source; ``None`` if the source has none
    :param target_offset: of the first record on the target; ``None`` if the target has none
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
    """Unmatched records of one gap: a record of the target may be a changed copy of one of the source."""

    source: tuple[UnmatchedRecord, ...]
    target: tuple[UnmatchedRecord, ...]


@dataclass(frozen=True, slots=True)
class OneSidedRules:
    """What a record of a partition means that only one cluster has.

    Of two records in a row in the same gap, the answers can differ only if one of the turning offsets or times is
    between them.

    :param on_missing: returns the kind and a detail for a record that only the source has; ``None`` if nothing is wrong
    :param on_foreign: the same for a record that only the target has
    :param turning_offsets: next to read
    :param turning_times: milliseconds since the epoch
    """

    on_missing: Callable[[UnmatchedRecord], tuple[FindingKind, str] | None]
    on_foreign: Callable[[UnmatchedRecord], tuple[FindingKind, str] | None]
    turning_offsets: tuple[int, ...] = ()
    turning_times: tuple[int, ...] = ()


class RecordDifference(NamedTuple):
    """A difference of one record, and the ordinals of the record on both clusters."""

    source: int | None
    target: int | None
    difference: Difference


def one_sided(
    source: Iterable[UnmatchedRecord], target: Iterable[UnmatchedRecord], rules: Mapping[int, OneSidedRules]
) -> list[Difference]:
    """Judge records that only one cluster has.

    :param rules: by partition
    """
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
    """Join differences of one record each that follow each other on both clusters."""
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
