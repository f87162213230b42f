"""Explaining what was not matched in order, one reason after the other: the same content elsewhere (REORDERED, MOVED),
content that had been delivered before (DUPLICATE, REPLAY), another content in the same index (suspects, for which
payloads are needed), and what is left over on one side (LOST, FOREIGN, or nothing that can be held against the copy).

All of a topic may be unmatched: a target that was created again, a worker that rewrites every record. So this works on
arrays, and a record becomes an object of its own where a run of differences begins, or where its payload is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from copy_audit.fingerprints import ArrayPair, Flags, Longs, runs
from copy_audit.unmatched import Ancestry, UnmatchedRecords, UnmatchedTopic, paired
from kafka_dr.audit.alignment import aligned
from kafka_dr.audit.difference import Difference, OneSidedRules, Suspects, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind

#: Records of a side whose payloads are looked at; of more in a topic, the rest is judged by time alone.
MOST_SUSPECTS = 200_000
_BY_TIME = "too many records of the topic differ to read all of them again: told by time alone"
_AT_ONCE = 1 << 20
#: Odd, so that no two of few gaps and times meet.
_MIXED = np.int64(0x1E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Classified:
    """What became of the unmatched records of a topic.

    :param differences: faults, in runs
    :param suspects: what only payloads can tell
    """

    differences: tuple[Difference, ...]
    suspects: tuple[Suspects, ...]


#: Finds, for records of the target by partition and hash, which records of the source have the same hash.
Ancestors = Callable[[Longs, Longs], Ancestry]


def classify(
    source: Sequence[UnmatchedRecords],
    target: Sequence[UnmatchedRecords],
    *,
    ancestors: Ancestors,
    rules: Mapping[int, OneSidedRules],
    most_suspects: int = MOST_SUSPECTS,
) -> Classified:
    """Explain the unmatched records of one topic.

    :param source: by partition
    :param target: the same partitions
    :param rules: by partition
    """
    here, there = UnmatchedTopic(tuple(source)), UnmatchedTopic(tuple(target))
    found: list[Difference] = []
    # Its own partition first: only what no record there wants can have moved.
    for look in (_reordered, _moved):
        differences, here, there = look(here, there)
        found += differences
    differences, there = _repeated(there, ancestors)
    found += differences
    suspects: list[Suspects] = []
    room = most_suspects
    for ours, theirs in zip(here.parts, there.parts, strict=True):
        facing, alone = _face_to_face(ours, theirs)
        cut = _cut(*facing, room)
        suspects += _suspects(*(side.at(slice(0, end)) for side, end in zip(facing, cut, strict=True)))
        room -= max(cut)
        differences, *rest = _by_time(*(side.at(slice(end, None)) for side, end in zip(facing, cut, strict=True)))
        found += differences
        known = rules[ours.partition]
        for missing in (alone[0], rest[0]):
            found += _one_sided(missing, known.on_missing, known, on_source=True)
        for strange in (alone[1], rest[1]):
            found += _one_sided(strange, known.on_foreign, known, on_source=False)
    return Classified(tuple(sorted(found, key=_index)), tuple(suspects))


def _reordered(
    source: UnmatchedTopic, target: UnmatchedTopic
) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Find the records that are in another order."""
    ours, theirs = [], []
    for number, (here, there) in enumerate(zip(source.parts, target.parts, strict=True)):
        if len(here) and len(there):
            rows, others = paired(here.hashes, there.hashes)
            ours.append(rows + source.bounds[number])
            theirs.append(others + target.bounds[number])
    if not ours:
        return [], source, target
    return _displaced(FindingKind.REORDERED, (source, np.concatenate(ours)), (target, np.concatenate(theirs)))


def _moved(source: UnmatchedTopic, target: UnmatchedTopic) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Find the records that are in another partition."""
    if len(source.parts) < 2 or not len(source) or not len(target):
        return [], source, target
    rows, others = paired(source.hashes, target.hashes)
    return _displaced(FindingKind.MOVED, (source, rows), (target, others))


def _displaced(
    kind: FindingKind, ours: tuple[UnmatchedTopic, Longs], theirs: tuple[UnmatchedTopic, Longs]
) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Join rows that were paired to runs; return what is left of both sides, too."""
    (source, rows), (target, others) = ours, theirs
    if not len(rows):
        return [], source, target
    in_a_row = _in_a_row(source.indexes[rows], source.numbers[rows]) & _in_a_row(
        target.indexes[others], target.numbers[others]
    )
    found = []
    for start, count in runs(in_a_row):
        here, there = source.record(int(rows[start])), target.record(int(others[start]))
        detail = "" if kind is FindingKind.REORDERED else f"on the target it is in partition {there.partition}"
        found.append(Difference(kind, here.partition, here.offset, there.offset, count, here.timestamp, detail))
    return found, source.without(rows), target.without(others)


def _repeated(target: UnmatchedTopic, ancestors: Ancestors) -> tuple[list[Difference], UnmatchedTopic]:
    """Find what had been delivered before; two and more in a row are a replay."""
    found: list[Difference] = []
    left = []
    for part in target.parts:
        kept = np.ones(len(part), np.bool_)
        before = (-2, -1, -1)
        for start in range(0, len(part), _AT_ONCE):
            some = part.at(slice(start, start + _AT_ONCE))
            known = ancestors(np.full(len(some), part.partition), some.hashes)
            rows = known.known
            if len(rows):
                kept[start + rows] = False
                before = _add_repetitions(found, some.at(rows), known.at(rows), before)
        left.append(part if kept.all() else part.at(np.flatnonzero(kept)))
    return found, UnmatchedTopic(tuple(left))


def _add_repetitions(
    found: list[Difference], records: UnmatchedRecords, known: Ancestry, before: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Join repeated records to runs.

    :param before: the index of the last one before these, and the partition and offset of its ancestor
    :returns: the same of the last one of these
    """
    indexes, partitions, offsets = (
        np.concatenate(([last], values))
        for last, values in zip(before, (records.indexes, known.partitions, known.offsets), strict=True)
    )
    in_a_row = (np.diff(indexes) == 1) & (np.diff(partitions) == 0) & (np.diff(offsets) > 0)
    for row, count in runs(in_a_row[1:]):
        if row == 0 and in_a_row[0]:
            found[-1] = replace(found[-1], kind=FindingKind.REPLAY, count=found[-1].count + count)
            continue
        record, partition = records.record(row), int(known.partitions[row])
        kind = FindingKind.REPLAY if count > 1 else FindingKind.DUPLICATE
        detail = "" if partition == record.partition else f"of a record in partition {partition}"
        ancestor = int(known.offsets[row])
        found.append(Difference(kind, record.partition, ancestor, record.offset, count, record.timestamp, detail))
    return int(indexes[-1]), int(partitions[-1]), int(offsets[-1])


_TwoSides = tuple[UnmatchedRecords, UnmatchedRecords]


def _face_to_face(source: UnmatchedRecords, target: UnmatchedRecords) -> tuple[_TwoSides, _TwoSides]:
    """Return the records in whose gap there are some on the other side, too, and the others."""
    counts = [np.diff(side.bounds) for side in (source, target)]
    faced = (counts[0] > 0) & (counts[1] > 0)
    sides = [_apart(side, faced, count) for side, count in zip((source, target), counts, strict=True)]
    return (sides[0][0], sides[1][0]), (sides[0][1], sides[1][1])


def _apart(side: UnmatchedRecords, gaps: Flags, counts: Longs) -> _TwoSides:
    """Return the records of some gaps, and those of the others."""
    nothing = side.at(slice(0, 0))
    if gaps[counts > 0].all():
        return side, nothing
    if not gaps.any():
        return nothing, side
    chosen = np.repeat(gaps, counts)
    return side.at(np.flatnonzero(chosen)), side.at(np.flatnonzero(~chosen))


def _cut(source: UnmatchedRecords, target: UnmatchedRecords, room: int) -> tuple[int, int]:
    """Return how many records of both sides can be looked at one by one: up to a gap, or, in a long one, up to where
    both sides were made at the same time.
    """
    if max(len(source), len(target)) <= room:
        return len(source), len(target)
    ends = np.array([source.bounds[1:], target.bounds[1:]])
    fitting = int((ends <= room).all(axis=0).sum())
    done = (int(ends[0, fitting - 1]), int(ends[1, fitting - 1])) if fitting else (0, 0)
    left = room - max(done)
    sides = [
        side.at(slice(start, min(int(end), start + left))).timestamps
        for side, start, end in zip((source, target), done, ends[:, fitting], strict=True)
    ]
    agreeing = deque(aligned(ArrayPair(*sides)), maxlen=1)
    if agreeing:
        last = agreeing[0]
        return done[0] + last.source + last.length, done[1] + last.target + last.length
    return done if max(done) else (len(sides[0]), len(sides[1]))


def _suspects(source: UnmatchedRecords, target: UnmatchedRecords) -> list[Suspects]:
    """Return the records of each gap as objects."""
    sides: list[dict[int, list[UnmatchedRecord]]] = [{}, {}]
    for of_gap, records in zip(sides, (source.records(), target.records()), strict=True):
        for record in records:
            of_gap.setdefault(record.gap, []).append(record)
    here, there = sides
    gaps = sorted(here.keys() | there.keys())
    return [Suspects(tuple(here.get(gap, ())), tuple(there.get(gap, ()))) for gap in gaps]


def _by_time(
    source: UnmatchedRecords, target: UnmatchedRecords
) -> tuple[list[Difference], UnmatchedRecords, UnmatchedRecords]:
    """SequencePair records of the same gap that were made at the same time; return what is left of both sides, too."""
    if not len(source) or not len(target):
        return [], source, target
    found: list[Difference] = []
    kept = np.ones(len(source), np.bool_), np.ones(len(target), np.bool_)
    goes_on = (-1, -1)
    for block in aligned(ArrayPair(_Times(source), _Times(target))):  # type: ignore[arg-type]
        for done in range(0, block.length, _AT_ONCE):
            length = min(_AT_ONCE, block.length - done)
            rows = slice(block.source + done, block.source + done + length)
            others = slice(block.target + done, block.target + done + length)
            kept[0][rows], kept[1][others] = False, False
            here, there = source.at(rows), target.at(others)
            begins = (int(here.indexes[0]), int(there.indexes[0]))
            for row, count in runs((np.diff(here.indexes) == 1) & (np.diff(there.indexes) == 1)):
                if row == 0 and begins == goes_on:
                    found[-1] = replace(found[-1], count=found[-1].count + count)
                else:
                    found.append(_told_by_time(here.record(row), there.record(row), count))
            goes_on = (int(here.indexes[-1]) + 1, int(there.indexes[-1]) + 1)
    left = [side.at(np.flatnonzero(rows)) for side, rows in zip((source, target), kept, strict=True)]
    return found, left[0], left[1]


def _told_by_time(here: UnmatchedRecord, there: UnmatchedRecord, count: int) -> Difference:
    return Difference(
        FindingKind.CORRUPT_UNKNOWN, here.partition, here.offset, there.offset, count, here.timestamp, _BY_TIME
    )


class _Times:
    """What stands for the gap and the time of records, made when it is looked at."""

    def __init__(self, records: UnmatchedRecords) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, rows: slice) -> Longs:
        some = self._records.at(rows)
        return some.gaps * _MIXED + some.timestamps


def _one_sided(
    records: UnmatchedRecords,
    verdict: Callable[[UnmatchedRecord], tuple[FindingKind, str] | None],
    known: OneSidedRules,
    *,
    on_source: bool,
) -> list[Difference]:
    """Judge records that nothing on the other side explains: the first of each run speaks for it."""
    found: list[Difference] = []
    last = -1
    for start in range(0, len(records), _AT_ONCE):
        part = records.at(slice(start, start + _AT_ONCE))
        in_a_row = np.diff(part.indexes) == 1
        for values, turns in ((part.offsets, known.turning_offsets), (part.timestamps, known.turning_times)):
            for turn in turns:
                in_a_row &= np.diff(values >= turn) == 0
        for row, count in runs(in_a_row):
            record = part.record(row)
            said = verdict(record)
            if said is None:
                continue
            goes_on = found and last + 1 == record.ordinal and (found[-1].kind, found[-1].detail) == said
            if goes_on:
                found[-1] = replace(found[-1], count=found[-1].count + count)
            else:
                here, there = (record.offset, None) if on_source else (None, record.offset)
                found.append(Difference(said[0], record.partition, here, there, count, record.timestamp, said[1]))
            last = record.ordinal + count - 1
    return found


def _in_a_row(indexes: Longs, numbers: Longs) -> Flags:
    """Return of each row but the first whether it goes on where the one before ends."""
    flags: Flags = (np.diff(indexes) == 1) & (np.diff(numbers) == 0)
    return flags


def _index(difference: Difference) -> tuple[int, int, int]:
    source, target = difference.source_offset, difference.target_offset
    return difference.partition, -1 if source is None else source, -1 if target is None else target
