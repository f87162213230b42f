"""Compares one partition of a compacted topic, where each cluster may lack what the other one still holds. Pure.

A record that one cluster lacks is explained by a later record of its key, or it is a finding. The later one may be
anywhere up to the ends of the logs, so these are searched for its key. Of a deletion whose key the other cluster does
not have any more, that cluster must hold no value from before, either.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafka_dr.audit.alignment import Block, NumberPair, aligned
from kafka_dr.audit.compaction import Gap, KeyedLog, KeyedPair, KeyedRecord, Removable, Side
from kafka_dr.audit.copies import Entry, are_timeless, is_copy
from kafka_dr.audit.finding import FindingKind, FirstDifference
from kafka_dr.audit.kept_frontier import FrontierPoint
from kafka_dr.audit.walk import PartitionWalk
from kafka_dr.positions import OffsetRange

#: Records of both clusters that are compared at once. It limits the memory that is needed.
MOST_RECORDS = 250_000
#: Offsets that are searched at once for keys.
_SEARCHED = 50_000
_GROWTH = 4
_SIDES: tuple[Side, Side] = (0, 1)


class KeyedEntry(NamedTuple):
    """A record as it is compared, with its key.

    :param key: a digest; ``None`` if it has none
    :param deletes: whether it deletes its key
    """

    entry: Entry
    key: Hashable | None
    deletes: bool


_Records = tuple[Sequence[KeyedEntry], Sequence[KeyedEntry]]
_Ranges = tuple[OffsetRange, OffsetRange]


class CompactedWalk(PartitionWalk):
    """The comparison of one partition of a compacted topic; :class:`PartitionWalk` says what the parameters are.

    The source is compared up to its end, also where less is asked for: a record of the target may be the copy of a
    later one, because what was between them is gone.
    """

    _chunk: _Chunk | None = None
    #: The records that were compared last, of source and target.
    compared: tuple[Sequence[Entry], Sequence[Entry]] = ((), ())
    #: How many times as large as usual the windows are.
    _growth = 1

    def source_window(self) -> OffsetRange:
        """Return what to read of the source next."""
        if self._chunk:
            return self._chunk.window(0)
        start = self.point.source_offset
        return OffsetRange(start, min(self._source_end, start + self._stride * self._growth))

    def target_window(self) -> OffsetRange:
        """Return what to read of the target next."""
        if self._chunk:
            return self._chunk.window(1)
        start = min(self.point.target_offset, self._target_end)
        return OffsetRange(start, min(self._target_end, start + self._reach * self._growth))

    def look(self, source: Sequence[KeyedEntry], target: Sequence[KeyedEntry]) -> None:
        """Compare the records of both windows, or look in them for the keys that are searched for."""
        if self._chunk is None:
            self.compared = [each.entry for each in source], [each.entry for each in target]
            self._chunk = self._compare((source, target))
        else:
            self._chunk.search((source, target))
        if self._chunk is not None and self._chunk.is_searched:
            self._judge(self._chunk)
            self._chunk, self._growth = None, 1

    def _compare(self, records: _Records) -> _Chunk | None:
        """Return what was found; ``None`` if the windows have nothing in common and have to grow."""
        windows = self.source_window(), self.target_window()
        blocks = _blocks(records)
        last = blocks[-1].source + blocks[-1].length if blocks else 0
        source_ends, target_ends = windows[0].end == self._source_end, windows[1].end == self._target_end
        nothing_copied = target_ends and records[0] and not records[1]
        ends = bool(nothing_copied or (source_ends and (target_ends or last == len(records[0]))))
        if blocks or ends:
            held = OffsetRange(self._source_start, self._source_end), OffsetRange(self._target_start, self._target_end)
            return _Chunk(self.point, windows, held, records, blocks, to_the_end=ends)
        if (count := sum(map(len, records))) >= MOST_RECORDS:
            self._refuse(count)
        self._growth *= _GROWTH
        return None

    def _judge(self, chunk: _Chunk) -> None:
        """Move over what is equal or explained, up to the first record that is neither."""
        for gap, block in chunk.parts():
            if self.done:
                return
            unexplained = chunk.unexplained(gap, 0), chunk.unexplained(gap, 1)
            if block is None:
                self._end(chunk, gap, unexplained)
                return
            skipped = self._skip_expired(unexplained) if self._from_start else 0
            if any(unexplained):
                self._report(chunk, gap, unexplained)
                return
            self._from_start = False
            self._move(*chunk.after(block), block.length, sum(map(len, gap.unmatched)) - skipped)
            self.point = replace(self.point, skipped=self.point.skipped + skipped)

    def _skip_expired(self, unexplained: tuple[list[int], list[int]]) -> int:
        """Leave out records at the start of one log whose counterparts have expired on the other cluster."""
        count = 0
        for records, start in zip(unexplained, (self._target_start, self._source_start), strict=True):
            if start > 0:
                count += len(records)
                records.clear()
        return count

    def _end(self, chunk: _Chunk, gap: Gap, unexplained: tuple[list[int], list[int]]) -> None:
        """Judge what follows the last record that both clusters have. It may still be copied."""
        source, target = gap.unmatched
        begins = chunk.offset(0, source.start) if source else self._source_end
        if begins >= self._until:
            ends = chunk.target_ends and not target
            self._pass_holes(begins, self._target_end if ends else self.point.target_offset)
        elif all(unexplained):
            # Copies are in order, so a copy of what is missing cannot follow a record that is there.
            self._report(chunk, gap, unexplained)
        elif unexplained[0]:
            self._found("target_ended", begins, gap.next[1])
        else:
            self._undecided(begins, gap.next[1])

    def _undecided(self, begins: int, target_end: int) -> None:
        """Refuse a tail that compaction may have removed from the target.

        It leaves holes, and so do the markers of transactions: they do not show that the record was ever there. If it
        were passed over, a copy that an open transaction hides would look foreign later.
        """
        sentence = (
            f"the target's log ends at offset {target_end}, without the source's record {begins}. From there on the "
            "source only deletes keys, so compaction may have removed the copies, or they were never made: write one "
            "more record to this partition on the source; when it is copied, that is decided"
        )
        self.finding = FirstDifference(FindingKind.MISSING, self.partition, begins, target_end, None, sentence)

    def _report(self, chunk: _Chunk, gap: Gap, unexplained: tuple[list[int], list[int]]) -> None:
        lost, foreign = unexplained
        on_source = chunk.offset(0, lost[0]) if lost else gap.next[0]
        on_target = chunk.offset(1, foreign[0]) if foreign else gap.next[1]
        if lost and foreign:
            self._found("different", on_source, on_target)
        else:
            self._found("lost" if lost else "foreign", on_source, on_target, len(lost or foreign))

    def _refuse(self, count: int) -> None:
        point = self.point
        sentence = (
            f"of {count:,} records from source offset {point.source_offset}, target offset {point.target_offset} on, "
            "the two clusters have none in common, which compaction may explain; only the checksum audit compares so "
            "many: run it for this flow, and try again"
        )
        self.finding = FirstDifference(
            FindingKind.UNVERIFIABLE, self.partition, point.source_offset, point.target_offset, None, sentence
        )


class _Chunk:
    """Records of both clusters that are compared at once, and what is known of their keys.

    :param windows: what was read
    :param held: what both clusters hold
    :param to_the_end: whether nothing follows that could be compared
    """

    def __init__(
        self,
        point: FrontierPoint,
        windows: _Ranges,
        held: _Ranges,
        records: _Records,
        blocks: Sequence[Block],
        *,
        to_the_end: bool,
    ) -> None:
        begins = point.source_offset - point.source_holes, point.target_offset - point.target_holes
        logs = [
            KeyedLog(list(map(_keyed, of)), OffsetRange(begin, window.end))
            for of, begin, window in zip(records, begins, windows, strict=True)
        ]
        self._pair = KeyedPair((logs[0], logs[1]), blocks)
        self.target_ends = windows[1].end == held[1].end
        self._parts = [
            (gap, block)
            for gap, block in zip(self._pair.gaps(), (*blocks, None), strict=True)
            if block is not None or to_the_end
        ]
        #: What is still to be searched: first what follows on both clusters, then what is before.
        self._ahead = [OffsetRange(window.end, each.end) for window, each in zip(windows, held, strict=True)]
        self._below = [OffsetRange(each.start, window.start) for window, each in zip(windows, held, strict=True)]
        #: Keys whose value from before is looked for, by cluster; and whether it is there, as far as that was seen.
        self._alive: tuple[dict[Hashable, bool], dict[Hashable, bool]] = ({}, {})
        self._asked = self._left_to_ask()

    def parts(self) -> Iterator[tuple[Gap, Block | None]]:
        """Yield what can be judged: each gap with the block that follows it."""
        return iter(self._parts)

    @property
    def is_searched(self) -> bool:
        """Whether everything is known that the records of this chunk can be judged by."""
        return not any(len(self.window(side)) for side in _SIDES)

    def window(self, side: Side) -> OffsetRange:
        """Return where to search next."""
        left = self._searched(side)[side]
        return OffsetRange(left.start, min(left.end, left.start + _SEARCHED))

    def search(self, found: _Records) -> None:
        """Take in what was read."""
        is_ahead = self._is_ahead
        windows = [self.window(side) for side in _SIDES]
        for side in _SIDES:
            ranges = self._ahead if is_ahead else self._below
            ranges[side] = OffsetRange(windows[side].end, max(windows[side].end, ranges[side].end))
            wanted = (each for each in found[side] if each.key in (self._asked if is_ahead else self._alive[side]))
            if is_ahead:
                self._pair.learn(side, map(_keyed, wanted))
            else:
                self._alive[side].update((each.key, not each.deletes) for each in wanted)
        if is_ahead:
            self._asked = self._left_to_ask()

    def unexplained(self, gap: Gap, side: Side) -> list[int]:
        """Return the indexes of a gap's records of one cluster that compaction does not explain."""
        explained = set(self._pair.explained(gap, side, self._living))
        return [index for index in gap.unmatched[side] if index not in explained]

    def after(self, block: Block) -> tuple[int, int]:
        """Return next after the records of a block, on source and target."""
        return (
            self.offset(0, block.source + block.length - 1) + 1,
            self.offset(1, block.target + block.length - 1) + 1,
        )

    def offset(self, side: Side, index: int) -> int:
        """Return where a record is."""
        return self._pair.logs[side].records[index].offset

    def _living(self, side: Side, keys: Collection[Hashable]) -> Collection[Hashable]:
        return {key for key in keys if self._alive[side].get(key)}

    @property
    def _is_ahead(self) -> bool:
        return bool(self._asked) and any(map(len, self._ahead))

    def _searched(self, side: Side) -> Sequence[OffsetRange]:
        if self._is_ahead:
            return self._ahead
        return self._below if self._alive[side] else (OffsetRange(0, 0),) * 2

    def _left_to_ask(self) -> set[Hashable]:
        """Return the keys of records that nothing is known to replace; note of which a value from before matters."""
        asked = set()
        for side in _SIDES:
            self._alive[1 - side].clear()
            for key, answer in (each for gap, _ in self._parts for each in self._pair.left_to_ask(gap, side)):
                asked.add(key)
                if answer is Removable.IF_DELETED:
                    self._alive[1 - side][key] = False
        return asked


def _keyed(record: KeyedEntry) -> KeyedRecord:
    return KeyedRecord(record.entry.offset, record.key, record.deletes)


def _blocks(records: _Records) -> list[Block]:
    """Align the records; if times of some cannot be compared, first without all times."""
    timeless = are_timeless(*([each.entry for each in of] for of in records))
    numbers: dict[bytes, int] = {}
    of_source, of_target = (
        [numbers.setdefault(each.entry.timeless if timeless else each.entry.content, len(numbers)) for each in of]
        for of in records
    )
    blocks = list(aligned(NumberPair(of_source, of_target)))
    return list(_copies(records, blocks)) if timeless else blocks


def _copies(records: _Records, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the parts of blocks whose records are copies, also by their times where these are kept."""
    for block in blocks:
        start = 0
        for n in range(block.length + 1):
            is_part = n < block.length and is_copy(
                records[0][block.source + n].entry, records[1][block.target + n].entry
            )
            if not is_part:
                if n > start:
                    yield Block(block.source + start, block.target + start, n - start)
                start = n + 1
