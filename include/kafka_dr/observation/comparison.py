"""Compares one partition of two clusters by content, and counts what became of each record. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_dr.audit.alignment import Block, aligned
from kafka_dr.audit.corruption import judge
from kafka_dr.audit.difference import Difference, RecordDifference, Suspects, UnmatchedRecord, one_sided, runs, step
from kafka_dr.audit.finding import FindingKind
from kafka_dr.observation.meaning import Circumstances, Meaning, counted_as
from kafka_dr.observation.records import NumberedPair, ReadLog, written_by
from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionComparison:
    """What became of the records of one partition.

    :param equal: records that are on both clusters, in their order
    :param equal_until: next to verify on the source: below it, from the first record that was compared, nothing differs
    :param differences: what differs, in runs
    :param copies: by the offset of a record on the source, the offsets of its copies on the target, rising
    :param gone: offsets of the records of the source whose copies the target has deleted by now
    """

    partition: TopicPartition
    source: ReadLog
    target: ReadLog
    equal: int
    equal_until: int
    differences: tuple[Difference, ...]
    copies: Mapping[int, Sequence[int]] = field(repr=False)
    gone: Sequence[int] = field(default=(), repr=False)

    @property
    def counts(self) -> Counter[str]:
        """How many records of each kind there are."""
        found: Counter[str] = Counter()
        for each in self.differences:
            found[counted_as(each)] += each.count
        return found


def compare(partition: TopicPartition, source: ReadLog, target: ReadLog, known: Circumstances) -> PartitionComparison:
    """Compare what was read of a partition."""
    pair = NumberedPair(source, target)
    blocks = list(aligned(pair))
    return _Comparing(partition, source, target, pair, blocks, known).compared()


class _Comparing:
    def __init__(
        self,
        partition: TopicPartition,
        source: ReadLog,
        target: ReadLog,
        pair: NumberedPair,
        blocks: Sequence[Block],
        known: Circumstances,
    ) -> None:
        self._partition, self._source, self._target, self._pair, self._blocks = partition, source, target, pair, blocks
        self._meaning = Meaning(pair, source, target, known, blocks)
        #: By index on the source, the indexes of its copies.
        self._copies: dict[int, list[int]] = defaultdict(list)
        for block in blocks:
            for n in range(block.length):
                self._copies[block.source + n].append(block.target + n)

    def compared(self) -> PartitionComparison:
        on_source = list(self._unmatched(self._source, [(b.source, b.length) for b in self._blocks]))
        on_target = list(self._unmatched(self._target, [(b.target, b.length) for b in self._blocks]))
        first = self._first_difference(on_source, on_target)
        steps = []
        for look in (self._reordered, self._repeated):
            found, on_source, on_target = look(on_source, on_target)
            steps += found
        self._meaning.leaves(on_source, on_target)
        differences = [*runs(steps), *self._judged(on_source, on_target)]
        return PartitionComparison(
            self._partition,
            self._source,
            self._target,
            sum(block.length for block in self._blocks),
            first,
            tuple(sorted(differences, key=_place)),
            self._copies_by_offset(),
            tuple(record.offset for record in on_source if self._is_gone(record)),
        )

    def _unmatched(self, log: ReadLog, blocks: Sequence[tuple[int, int]]) -> Iterator[UnmatchedRecord]:
        begin, times = 0, written_by(log.records)
        for gap, (start, length) in enumerate([*blocks, (len(log.records), 0)]):
            for index in range(begin, start):
                record = log.records[index]
                number = self._pair.number(record)
                yield UnmatchedRecord(self._partition.partition, index, gap, record.offset, times[index], number)
            begin = start + length

    def _first_difference(self, source: Sequence[UnmatchedRecord], target: Sequence[UnmatchedRecord]) -> int:
        """Return the source offset from which on something differs; what precedes the first block was not compared."""
        begun = not (self._source.from_first and self._target.from_first)
        gaps = [record.gap for record in (*source, *target) if record.gap or not begun or not self._blocks]
        if not gaps:
            return self._source.read.end
        if not (first := min(gaps)):
            return self._source.read.start
        before = self._blocks[first - 1]
        return self._source.records[before.source + before.length - 1].offset + 1

    def _reordered(
        self, source: list[UnmatchedRecord], target: list[UnmatchedRecord]
    ) -> tuple[list[RecordDifference], list[UnmatchedRecord], list[UnmatchedRecord]]:
        waiting: dict[int, deque[UnmatchedRecord]] = defaultdict(deque)
        for record in source:
            waiting[record.hash].append(record)
        found, left = [], []
        for record in target:
            if not waiting.get(record.hash):
                left.append(record)
                continue
            original = waiting[record.hash].popleft()
            self._copies[original.ordinal].append(record.ordinal)
            found.append(step(FindingKind.REORDERED, "", source=original, target=record))
        return found, sorted(each for some in waiting.values() for each in some), left

    def _repeated(
        self, source: list[UnmatchedRecord], target: list[UnmatchedRecord]
    ) -> tuple[list[RecordDifference], list[UnmatchedRecord], list[UnmatchedRecord]]:
        index = {number: s for s, number in enumerate(self._pair.source) if s in self._copies}
        found, left = [], []
        for record in target:
            original = index.get(record.hash)
            if original is None:
                left.append(record)
                continue
            self._copies[original].append(record.ordinal)
            found.append(step(FindingKind.DUPLICATE, "", source=None, target=record))
        return found, source, left

    def _judged(self, source: Sequence[UnmatchedRecord], target: Sequence[UnmatchedRecord]) -> Iterator[Difference]:
        rules = {self._partition.partition: self._meaning.rules}
        of_source, of_target = _by_gap(source), _by_gap(target)
        faced = of_source.keys() & of_target.keys()
        for gap in sorted(faced):
            for difference in judge(
                Suspects(tuple(of_source[gap]), tuple(of_target[gap])),
                source=lambda r: self._pair.parts(self._source.records[r.ordinal]),
                target=lambda r: self._pair.parts(self._target.records[r.ordinal]),
                rules=rules,
            ):
                self._keep_changed(difference)
                yield difference
        yield from one_sided(
            [r for r in source if r.gap not in faced], [r for r in target if r.gap not in faced], rules
        )

    def _keep_changed(self, difference: Difference) -> None:
        """Remember where the changed copies of records are: they are there, whatever they say."""
        if difference.source_offset is None or difference.target_offset is None:
            return
        s = bisect_left(self._source.records, difference.source_offset, key=lambda r: r.offset)
        t = bisect_left(self._target.records, difference.target_offset, key=lambda r: r.offset)
        for n in range(difference.count):
            self._copies[s + n].append(t + n)

    def _is_gone(self, record: UnmatchedRecord) -> bool:
        """Return whether the target must have had a copy of a record before its log begins now."""
        if record.gap or record.ordinal in self._copies or not self._target.whole or self._target.from_first:
            return False
        verdict = self._meaning.on_missing(record)
        return verdict is not None and verdict[0] is FindingKind.UNVERIFIABLE

    def _copies_by_offset(self) -> dict[int, list[int]]:
        of, to = self._source.records, self._target.records
        return {of[s].offset: sorted(to[t].offset for t in found) for s, found in sorted(self._copies.items())}


def _by_gap(records: Sequence[UnmatchedRecord]) -> dict[int, list[UnmatchedRecord]]:
    found: dict[int, list[UnmatchedRecord]] = {}
    for record in records:
        found.setdefault(record.gap, []).append(record)
    return found


def _place(difference: Difference) -> tuple[int, int]:
    source, target = difference.source_offset, difference.target_offset
    return -1 if source is None else source, -1 if target is None else target
