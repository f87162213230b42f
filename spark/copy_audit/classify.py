"""Finds out why records were not matched in order, one reason after the other: the same content at another offset
(REORDERED, MOVED), content that was delivered before (DUPLICATE, REPLAY), other content at the same position (suspects,
whose payloads are needed), and records that only one cluster has (LOST, FOREIGN, or nothing that is wrong).

All records of a topic may be unmatched: a target that was created again, a worker that changes every record. So this
works on arrays, and only the first record of a run, or one whose payload is read, becomes an object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from copy_audit.fingerprints import ArrayPair, Flags, Longs, runs
from copy_audit.unmatched import Ancestors, Ancestry, UnmatchedRecords, UnmatchedTopic, paired
from kafka_dr.audit.alignment import aligned
from kafka_dr.audit.difference import Difference, OneSidedRules, Suspects, UnmatchedRecord
from kafka_dr.audit.finding import FindingKind

#: Records of a cluster whose payloads are read; if a topic has more, the rest is judged by timestamps alone.
MOST_SUSPECTS = 200_000
_BY_TIME = "too many records of the topic differ to read all of them again: paired by timestamp alone"
_AT_ONCE = 1 << 20
#: Odd, so that gaps and timestamps of nearby records have different numbers.
_MIXED = np.int64(0x1E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Classified:
    """What was found out about the unmatched records of a topic.

    :param differences: findings, in runs
    :param suspects: records whose payloads have to be compared
    """

    differences: tuple[Difference, ...]
    suspects: tuple[Suspects, ...]


def classify(
    source: Sequence[UnmatchedRecords],
    target: Sequence[UnmatchedRecords],
    *,
    ancestors: Ancestors,
    rules: Mapping[int, OneSidedRules],
    most_suspects: int = MOST_SUSPECTS,
) -> Classified:
    """Find out why the records of one topic were not matched.

    :param source: by partition
    :param target: the same partitions
    :param rules: by partition
    """
    on_source, on_target = UnmatchedTopic(tuple(source)), UnmatchedTopic(tuple(target))
    found: list[Difference] = []
    # Its own partition first: only a record that no record of its own partition equals can have moved.
    for look in (_reordered, _moved):
        differences, on_source, on_target = look(on_source, on_target)
        found += differences
    differences, on_target = _repeated(on_target, ancestors)
    found += differences
    suspects: list[Suspects] = []
    room = most_suspects
    for of_source, of_target in zip(on_source.parts, on_target.parts, strict=True):
        facing, alone = _face_to_face(of_source, of_target)
        cut = _cut(*facing, room)
        suspects += _suspects(*(records.at(slice(0, end)) for records, end in zip(facing, cut, strict=True)))
        room -= max(cut)
        differences, *rest = _by_time(*(records.at(slice(end, None)) for records, end in zip(facing, cut, strict=True)))
        found += differences
        known = rules[of_source.partition]
        for missing in (alone[0], rest[0]):
            found += _one_sided(missing, known.on_missing, known, on_source=True)
        for foreign in (alone[1], rest[1]):
            found += _one_sided(foreign, known.on_foreign, known, on_source=False)
    return Classified(tuple(sorted(found, key=_index)), tuple(suspects))


def _reordered(
    source: UnmatchedTopic, target: UnmatchedTopic
) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Find the records that are in another order."""
    of_source, of_target = [], []
    for number, (on_source, on_target) in enumerate(zip(source.parts, target.parts, strict=True)):
        if len(on_source) and len(on_target):
            rows, others = paired(on_source.hashes, on_target.hashes)
            of_source.append(rows + source.bounds[number])
            of_target.append(others + target.bounds[number])
    if not of_source:
        return [], source, target
    return _displaced(FindingKind.REORDERED, (source, np.concatenate(of_source)), (target, np.concatenate(of_target)))


def _moved(source: UnmatchedTopic, target: UnmatchedTopic) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Find the records that are in another partition."""
    if len(source.parts) < 2 or not len(source) or not len(target):
        return [], source, target
    rows, others = paired(source.hashes, target.hashes)
    return _displaced(FindingKind.MOVED, (source, rows), (target, others))


def _displaced(
    kind: FindingKind, of_source: tuple[UnmatchedTopic, Longs], of_target: tuple[UnmatchedTopic, Longs]
) -> tuple[list[Difference], UnmatchedTopic, UnmatchedTopic]:
    """Join paired rows to runs; return the differences, and the remaining records of source and target."""
    (source, rows), (target, others) = of_source, of_target
    if not len(rows):
        return [], source, target
    in_a_row = _in_a_row(source.indexes[rows], source.numbers[rows]) & _in_a_row(
        target.indexes[others], target.numbers[others]
    )
    found = []
    for start, count in runs(in_a_row):
        original, copy = source.record(int(rows[start])), target.record(int(others[start]))
        detail = "" if kind is FindingKind.REORDERED else f"on the target it is in partition {copy.partition}"
        found.append(
            Difference(kind, original.partition, original.offset, copy.offset, count, original.timestamp, detail)
        )
    return found, source.without(rows), target.without(others)


def _repeated(target: UnmatchedTopic, ancestors: Ancestors) -> tuple[list[Difference], UnmatchedTopic]:
    """Find records that were delivered before; two or more in a row are a replay."""
    found: list[Difference] = []
    repeated = [np.empty(0, np.int64)]
    numbers, before = np.concatenate(([-1], target.numbers)), (-2, -1, -1)
    # Of several partitions at once: each question may be one to a cluster of machines.
    for start in range(0, len(target), _AT_ONCE):
        pieces = target.between(start, start + _AT_ONCE)
        partitions = np.repeat([piece.partition for piece in pieces], [len(piece) for piece in pieces])
        known = ancestors(partitions, np.concatenate([piece.hashes for piece in pieces]))
        done = 0
        for piece in pieces:
            of_piece = known.at(np.arange(done, done + len(piece)))
            if numbers[start + done] != numbers[start + done + 1]:
                before = (-2, -1, -1)
            if len(rows := of_piece.known):
                repeated.append(start + done + rows)
                before = _add_repetitions(found, piece.at(rows), of_piece.at(rows), before)
            done += len(piece)
    return found, target.without(np.concatenate(repeated))


def _add_repetitions(
    found: list[Difference], records: UnmatchedRecords, known: Ancestry, before: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Join repeated records to runs.

    :param before: the index of the last record before these, and the partition and offset of its ancestor
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


_SourceAndTarget = tuple[UnmatchedRecords, UnmatchedRecords]


def _face_to_face(source: UnmatchedRecords, target: UnmatchedRecords) -> tuple[_SourceAndTarget, _SourceAndTarget]:
    """Return the records whose gap has records on both clusters, and the others."""
    counts = [np.diff(records.bounds) for records in (source, target)]
    faced = (counts[0] > 0) & (counts[1] > 0)
    both = [_apart(records, faced, count) for records, count in zip((source, target), counts, strict=True)]
    return (both[0][0], both[1][0]), (both[0][1], both[1][1])


def _apart(records: UnmatchedRecords, gaps: Flags, counts: Longs) -> _SourceAndTarget:
    """Return the records of the given gaps, and those of the others."""
    nothing = records.at(slice(0, 0))
    if gaps[counts > 0].all():
        return records, nothing
    if not gaps.any():
        return nothing, records
    chosen = np.repeat(gaps, counts)
    return records.at(np.flatnonzero(chosen)), records.at(np.flatnonzero(~chosen))


def _cut(source: UnmatchedRecords, target: UnmatchedRecords, room: int) -> tuple[int, int]:
    """Return how many records of source and target can be read one by one: up to a gap or, in a long one, up to records
    with the same timestamp.
    """
    if max(len(source), len(target)) <= room:
        return len(source), len(target)
    ends = np.array([source.bounds[1:], target.bounds[1:]])
    fitting = int((ends <= room).all(axis=0).sum())
    done = (int(ends[0, fitting - 1]), int(ends[1, fitting - 1])) if fitting else (0, 0)
    left = room - max(done)
    both = [
        records.at(slice(start, min(int(end), start + left))).timestamps
        for records, start, end in zip((source, target), done, ends[:, fitting], strict=True)
    ]
    agreeing = deque(aligned(ArrayPair(*both)), maxlen=1)
    if agreeing:
        last = agreeing[0]
        return done[0] + last.source + last.length, done[1] + last.target + last.length
    return done if max(done) else (len(both[0]), len(both[1]))


def _suspects(source: UnmatchedRecords, target: UnmatchedRecords) -> list[Suspects]:
    """Return the records of each gap as objects."""
    both: list[dict[int, list[UnmatchedRecord]]] = [{}, {}]
    for of_gap, records in zip(both, (source.records(), target.records()), strict=True):
        for record in records:
            of_gap.setdefault(record.gap, []).append(record)
    on_source, on_target = both
    gaps = sorted(on_source.keys() | on_target.keys())
    return [Suspects(tuple(on_source.get(gap, ())), tuple(on_target.get(gap, ()))) for gap in gaps]


def _by_time(
    source: UnmatchedRecords, target: UnmatchedRecords
) -> tuple[list[Difference], UnmatchedRecords, UnmatchedRecords]:
    """Pair records of the same gap with the same timestamp; return the remaining records, too."""
    if not len(source) or not len(target):
        return [], source, target
    found: list[Difference] = []
    kept = np.ones(len(source), np.bool_), np.ones(len(target), np.bool_)
    continued = (-1, -1)
    for block in aligned(ArrayPair(_Times(source), _Times(target))):  # type: ignore[arg-type]
        for done in range(0, block.length, _AT_ONCE):
            length = min(_AT_ONCE, block.length - done)
            rows = slice(block.source + done, block.source + done + length)
            others = slice(block.target + done, block.target + done + length)
            kept[0][rows], kept[1][others] = False, False
            on_source, on_target = source.at(rows), target.at(others)
            begins = (int(on_source.indexes[0]), int(on_target.indexes[0]))
            for row, count in runs((np.diff(on_source.indexes) == 1) & (np.diff(on_target.indexes) == 1)):
                if row == 0 and begins == continued:
                    found[-1] = replace(found[-1], count=found[-1].count + count)
                else:
                    found.append(_paired_by_time(on_source.record(row), on_target.record(row), count))
            continued = (int(on_source.indexes[-1]) + 1, int(on_target.indexes[-1]) + 1)
    left = [records.at(np.flatnonzero(rows)) for records, rows in zip((source, target), kept, strict=True)]
    return found, left[0], left[1]


def _paired_by_time(original: UnmatchedRecord, copy: UnmatchedRecord, count: int) -> Difference:
    offsets = original.offset, copy.offset
    return Difference(FindingKind.CORRUPT_UNKNOWN, original.partition, *offsets, count, original.timestamp, _BY_TIME)


class _Times:
    """Numbers for the gap and the timestamp of records, computed when they are needed."""

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
    """Judge records that only one cluster has; the first record of each run is judged for all of it."""
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
            continued = found and last + 1 == record.ordinal and (found[-1].kind, found[-1].detail) == said
            if continued:
                found[-1] = replace(found[-1], count=found[-1].count + count)
            else:
                source, target = (record.offset, None) if on_source else (None, record.offset)
                found.append(Difference(said[0], record.partition, source, target, count, record.timestamp, said[1]))
            last = record.ordinal + count - 1
    return found


def _in_a_row(indexes: Longs, numbers: Longs) -> Flags:
    """Return of each row but the first whether it continues the row before."""
    flags: Flags = (np.diff(indexes) == 1) & (np.diff(numbers) == 0)
    return flags


def _index(difference: Difference) -> tuple[int, int, int]:
    source, target = difference.source_offset, difference.target_offset
    return difference.partition, -1 if source is None else source, -1 if target is None else target
