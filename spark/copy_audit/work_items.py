"""A partition in ranges that are aligned one by one, by whoever has their records, and joined to one again.

It is cut where source and target are in step. A record whose copy is in another range is unmatched in both, and is
looked for among all unmatched records of the topic, as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from copy_audit.digests import MinuteSums, minute_sums
from copy_audit.expired import Span
from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.matching import AlignedPartition, compare
from copy_audit.partitions import MatchedByTasks
from copy_audit.sparse_log import SparseLog
from copy_audit.unmatched import UnmatchedRecords
from kafka_dr.audit.alignment import Block, align, is_believed, longest_window
from kafka_dr.audit.copies import NO_TIMESTAMP

#: Offsets of a partition, however long it is.
EVERYTHING: Span = (0, 2**62)
#: Of so many records that occur once on both clusters, one may be in another order and prevents no cut.
_ONE_DISPLACED_IN = 64


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Ranges of one partition whose records are aligned with each other."""

    partition: int
    source: Span = EVERYTHING
    target: Span = EVERYTHING


class ItemRow(StrEnum):
    """What three numbers say that come of aligning an item."""

    #: Matched records in a row: the first one's offset on the source and on the target, and how many.
    RUN = "run"
    #: An unmatched record: offset, timestamp and hash.
    SOURCE = "source"
    TARGET = "target"
    #: The matched records of a minute: the minute, how many, and the sum of their hashes.
    SOURCE_MINUTE = "source_minute"
    TARGET_MINUTE = "target_minute"
    #: Whether the first records of both ranges are equal, and whether the last ones are for so long that no record
    #: after them could change how those before are aligned: 1 or 0; and 0.
    STEPS = "steps"
    #: How many records of the source and of the target are unmatched; and 0.
    UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True, eq=False)
class AlignedItem:
    """An item, aligned, without its unmatched records.

    :param runs: three numbers a row, as :class:`ItemRow` says
    :param in_step: whether source and target are in step at the beginning of both ranges, and at their end
    """

    runs: Longs
    minutes: tuple[MinuteSums, MinuteSums]
    in_step: tuple[bool, bool]

    @classmethod
    def of(cls, rows: Mapping[ItemRow, Longs]) -> AlignedItem:
        """Return it from its rows; of an item without records there are none."""
        nothing = np.empty((0, 3), np.int64)
        minutes = [rows.get(kind, nothing) for kind in (ItemRow.SOURCE_MINUTE, ItemRow.TARGET_MINUTE)]
        head, tail, _ = rows.get(ItemRow.STEPS, np.zeros((1, 3), np.int64))[0].tolist()
        one, other = ((each[:, 0], each[:, 1:]) for each in minutes)
        return cls(rows.get(ItemRow.RUN, nothing), (one, other), (head > 0, tail > 0))


def cut(partition: int, source: Fingerprints, target: Fingerprints, *, every: int) -> list[WorkItem]:
    """Cut a partition.

    :param source: a sample: of some hashes, every record that has it
    :param target: the same of the target
    :param every: how many records of the samples an item has, at least
    """
    # What has no time gets that of a record before it, or of the first one that has one: both have to be in its item.
    anchors = [(s, t) for s, t in _anchors(source, target) if source.timestamps[s] != NO_TIMESTAMP][1:]
    items, last = [WorkItem(partition)], (0, 0)
    for row, other in anchors:
        if max(row - last[0], other - last[1]) >= every:
            at = int(source.offsets[row]), int(target.offsets[other])
            before = items[-1]
            items[-1] = replace(before, source=(before.source[0], at[0]), target=(before.target[0], at[1]))
            items.append(WorkItem(partition, (at[0], EVERYTHING[1]), (at[1], EVERYTHING[1])))
            last = row, other
    return items


def _anchors(source: Fingerprints, target: Fingerprints) -> list[tuple[int, int]]:
    """Return rows of records that occur once in each sample, and before which both samples have the same records."""
    once = []
    for log in (source, target):
        hashes, first, counts = np.unique(log.hashes, return_index=True, return_counts=True)
        once.append((hashes[counts == 1], first[counts == 1]))
    _, *numbers = np.intersect1d(once[0][0], once[1][0], assume_unique=True, return_indices=True)
    rows, others = once[0][1][numbers[0]], once[1][1][numbers[1]]
    order = np.argsort(rows)
    rows, others = rows[order], others[order]
    blocks = align(source.hashes[rows].tolist(), target.hashes[np.sort(others)].tolist())
    chain = np.concatenate([np.empty(0, np.int64), *(np.arange(b.source, b.source + b.length) for b in blocks)])
    if (len(rows) - len(chain)) * _ONE_DISPLACED_IN <= len(rows):
        rows, others = rows[chain], others[chain]
    ranks = np.argsort(np.argsort(others))
    same_before = np.maximum.accumulate(np.concatenate(([-1], ranks))) == np.arange(-1, len(ranks))
    found = np.flatnonzero(same_before[:-1] & same_before[1:])
    return list(zip(rows[found].tolist(), others[found].tolist(), strict=True))


def aligned_rows(source: Fingerprints, target: Fingerprints) -> Iterator[tuple[ItemRow, Longs]]:
    """Align the records of an item, and yield what is said of it, three numbers a row."""
    source = source.dated()
    comparison = compare(0, source, target)
    in_step = comparison.blocks[:1, :2].tolist() == [[0, 0]], _ends_in_step(comparison)
    yield ItemRow.STEPS, np.array([[*in_step, 0]], np.int64)
    counts = [len(source) - comparison.matched, len(target) - comparison.matched, 0]
    yield ItemRow.UNMATCHED, np.array([counts], np.int64)
    yield ItemRow.RUN, np.array(comparison.runs(), np.int64).reshape(-1, 3)
    for log, unmatched, kind, minutes in (
        (source, comparison.unmatched_source(), ItemRow.SOURCE, ItemRow.SOURCE_MINUTE),
        (target, comparison.unmatched_target(), ItemRow.TARGET, ItemRow.TARGET_MINUTE),
    ):
        yield kind, np.stack((unmatched.offsets, unmatched.timestamps, unmatched.hashes), axis=1)
        yield minutes, _matched_minutes(log, unmatched)


def _ends_in_step(comparison: AlignedPartition) -> bool:
    if not len(comparison.blocks) or comparison.tail_indexes != (len(comparison.source), len(comparison.target)):
        return False
    *before, last = map(Block._make, comparison.blocks.tolist())
    long = next((block for block in reversed(before) if is_believed(block)), Block(0, 0, 0))
    unequal = max(last.source - long.source, last.target - long.target) - long.length
    return last.length > longest_window(unequal)


def _matched_minutes(log: Fingerprints, unmatched: UnmatchedRecords) -> Longs:
    """Digest the matched records: those of all without those of the others."""
    whole, less = minute_sums(log), minute_sums(log.at(unmatched.indexes))
    minutes, number = np.unique(np.concatenate((whole[0], less[0])), return_inverse=True)
    sums = np.zeros((len(minutes), 2), np.int64)
    np.add.at(sums, number, np.concatenate((whole[1], -less[1])))
    return np.column_stack((minutes, sums))[sums[:, 0] > 0]


def confirmed(
    items: Sequence[WorkItem], align_some: Callable[[Sequence[WorkItem]], Mapping[WorkItem, AlignedItem]]
) -> dict[WorkItem, AlignedItem]:
    """Align items, and again those between which source and target were not in step, as one.

    :param align_some: aligns some items
    """
    done: dict[WorkItem, AlignedItem] = {}
    while new := [item for item in items if item not in done]:
        done |= align_some(new)
        kept: list[WorkItem] = []
        before = None
        for item in items:
            if before is None or before.partition != item.partition or _in_step(done[before], done[item]):
                kept.append(item)
            else:
                one = kept[-1]
                kept[-1] = replace(one, source=(one.source[0], item.source[1]), target=(one.target[0], item.target[1]))
            before = item
        items = kept
    return {item: done[item] for item in items}


def _in_step(before: AlignedItem, after: AlignedItem) -> bool:
    return before.in_step[1] and after.in_step[0]


def joined(
    items: Sequence[AlignedItem], unmatched: tuple[Fingerprints, Fingerprints], time_of: Callable[[int], int]
) -> tuple[SparseLog, SparseLog, MatchedByTasks]:
    """Join the items of a partition: return both logs, and what is matched of them.

    :param items: in their order
    :param unmatched: all records of source and target that were not matched
    :param time_of: returns when the record of the source at an offset was made, in milliseconds since the epoch
    """
    runs = np.concatenate([item.runs for item in items])
    source = SparseLog.of(runs[:, [0, 2]], unmatched[0], time_of)
    target = SparseLog.of(runs[:, [1, 2]], unmatched[1], time_of)
    blocks = np.column_stack((source.index_of(runs[:, 0]), target.index_of(runs[:, 1]), runs[:, 2]))
    ends = blocks[:-1, :2] + blocks[:-1, 2:]
    heads = np.concatenate(([0], np.flatnonzero((ends != blocks[1:, :2]).any(axis=1)) + 1))[: len(blocks)]
    if len(heads):
        blocks = np.column_stack((blocks[heads, :2], np.add.reduceat(blocks[:, 2], heads)))
    minutes = [
        (
            np.concatenate([each.minutes[end][0] for each in items]),
            np.concatenate([each.minutes[end][1] for each in items]),
        )
        for end in (0, 1)
    ]
    return source, target, MatchedByTasks(blocks, (minutes[0], minutes[1]))
