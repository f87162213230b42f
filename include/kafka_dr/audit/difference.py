"""What can be different about a copy, and which difference it is.

A record that was not matched in order is *loose*. Loose records of a topic are explained one after the other: the same
content elsewhere (REORDERED, MOVED), content that had been delivered before (DUPLICATE, REPLAY), another content in the
same place (CORRUPT, for which payloads are needed), and what is left over on one side (LOST, FOREIGN, or nothing that
can be held against the copy). Places count records, offsets are *of* a record.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    UNVERIFIABLE = "UNVERIFIABLE"


class Loose(NamedTuple):
    """A record that was not matched in order.

    :param place: which record of its partition and side it is, counted from the first one compared
    :param gap: between which two blocks it lies, counted from 0
    :param timestamp: milliseconds since the epoch
    :param key: on compacted topics, what stands for its key
    """

    partition: int
    place: int
    gap: int
    offset: int
    timestamp: int
    hash: int
    key: int | None = None


class Ancestor(NamedTuple):
    """The record of the source that a record on the target repeats."""

    partition: int
    offset: int


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
    """

    verdict_on_missing: Callable[[Loose], tuple[Fault, str] | None]
    verdict_on_strange: Callable[[Loose], tuple[Fault, str] | None]


@dataclass(frozen=True, slots=True)
class Explained:
    """What became of the loose records of a topic.

    :param differences: faults, in runs
    :param suspects: what only payloads can tell
    """

    differences: tuple[Difference, ...]
    suspects: tuple[Suspects, ...]


class Step(NamedTuple):
    """A difference of one record, and its places."""

    source: int | None
    target: int | None
    difference: Difference


Ancestors = Callable[[Sequence[Loose]], Mapping[int, Ancestor]]


def explain(
    source: Iterable[Loose],
    target: Iterable[Loose],
    *,
    ancestors: Ancestors,
    circumstances: Mapping[int, Circumstances],
) -> Explained:
    """Explain the loose records of one topic.

    :param source: by partition and place
    :param target: by partition and place
    :param ancestors: finds, for records of the target, which matched records of the source have the same hash
    :param circumstances: by partition
    """
    displaced, here, there = _displaced(list(source), list(target))
    repeated, there = _repeated(there, ancestors(there) if there else {})
    suspects, here, there = _face_to_face(here, there)
    left = one_sided(here, there, circumstances)
    return Explained(tuple(sorted([*displaced, *repeated, *left], key=_place)), tuple(suspects))


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


def _displaced(source: list[Loose], target: list[Loose]) -> tuple[list[Difference], list[Loose], list[Loose]]:
    """Find the records that are on both sides, in another order or another partition."""
    # Its own partition first: only what no record there wants can have moved.
    reordered, source, target = _with_equal(source, target, lambda record: (record.partition, record.hash))
    moved, source, target = _with_equal(source, target, lambda record: record.hash)
    return runs(_displacement(*pair) for pair in [*reordered, *moved]), source, target


def _with_equal(
    source: Iterable[Loose], target: Iterable[Loose], what: Callable[[Loose], Hashable]
) -> tuple[list[tuple[Loose, Loose]], list[Loose], list[Loose]]:
    """Pair records that are equal in something, first with first; return the pairs and what is left."""
    waiting: dict[Hashable, deque[Loose]] = defaultdict(deque)
    for record in source:
        waiting[what(record)].append(record)
    pairs, left = [], []
    for record in target:
        equal = waiting.get(what(record))
        if equal:
            pairs.append((equal.popleft(), record))
        else:
            left.append(record)
    return pairs, sorted(record for equal in waiting.values() for record in equal), left


def _displacement(source: Loose, target: Loose) -> Step:
    if source.partition == target.partition:
        return step(Fault.REORDERED, "", source=source, target=target)
    return step(Fault.MOVED, f"on the target it is in partition {target.partition}", source=source, target=target)


def _repeated(target: list[Loose], ancestors: Mapping[int, Ancestor]) -> tuple[list[Difference], list[Loose]]:
    """Find what had been delivered before; two and more in a row are a replay."""
    left, found = [], []
    stretch: list[tuple[Loose, Ancestor]] = []
    for record in target:
        ancestor = ancestors.get(record.hash)
        if ancestor is None:
            left.append(record)
            continue
        if stretch and not _goes_on(*stretch[-1], record, ancestor):
            found.append(_repetition(stretch))
            stretch = []
        stretch.append((record, ancestor))
    if stretch:
        found.append(_repetition(stretch))
    return found, left


def _goes_on(record: Loose, ancestor: Ancestor, following: Loose, its_ancestor: Ancestor) -> bool:
    in_a_row = (record.partition, record.place + 1) == (following.partition, following.place)
    return in_a_row and ancestor.partition == its_ancestor.partition and ancestor.offset < its_ancestor.offset


def _repetition(stretch: Sequence[tuple[Loose, Ancestor]]) -> Difference:
    record, ancestor = stretch[0]
    fault = Fault.REPLAY if len(stretch) > 1 else Fault.DUPLICATE
    detail = "" if ancestor.partition == record.partition else f"of a record in partition {ancestor.partition}"
    return Difference(fault, record.partition, ancestor.offset, record.offset, len(stretch), record.timestamp, detail)


def _face_to_face(source: Sequence[Loose], target: Sequence[Loose]) -> tuple[list[Suspects], list[Loose], list[Loose]]:
    """Find the gaps in which records are left on both sides."""
    gaps: dict[tuple[int, int], tuple[list[Loose], list[Loose]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((source, target)):
        for record in records:
            gaps[record.partition, record.gap][side].append(record)
    suspects = [Suspects(tuple(here), tuple(there)) for here, there in gaps.values() if here and there]
    rest_here = [record for here, there in gaps.values() if not there for record in here]
    rest_there = [record for here, there in gaps.values() if not here for record in there]
    return suspects, rest_here, rest_there


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


def _place(difference: Difference) -> tuple[int, int, int]:
    source, target = difference.source_offset, difference.target_offset
    return difference.partition, -1 if source is None else source, -1 if target is None else target
