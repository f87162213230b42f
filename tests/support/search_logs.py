"""Two logs whose truth the generator knows: which copies each record has, and which offsets would be late."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from kafka_dr.audit.copies import Entry
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.by_content import finish
from kafka_dr.offsets.translate.matching import Anchor
from kafka_dr.offsets.translate.search import OffsetSearch, RangePair, consistent, nothing_expired_early
from kafka_dr.positions import OffsetPair, OffsetRange, TopicPartition

PARTITION = TopicPartition("t", 0)


@dataclass(frozen=True)
class LogPair:
    """Two logs. ``copies`` maps the offset of a source record to those of its copies on the target."""

    source: tuple[Entry, ...]
    target: tuple[Entry, ...]
    bounds: RangePair
    copies: Mapping[int, tuple[int, ...]]
    every_source: tuple[Entry, ...]

    def anchors(self) -> list[Anchor]:
        """Return all true pairs, also of records that have expired."""
        return [OffsetPair(source, found[0]) for source, found in self.copies.items() if found]

    def held(self, offset: int) -> list[int]:
        """Return the copies of a source record that the target still holds."""
        return [found for found in self.copies.get(offset, ()) if found >= self.bounds.target.start]

    def foreign(self) -> set[bytes]:
        """Return the contents of the target that are no copy of a record that the source holds."""
        copied = {copy for entry in self.source for copy in self.copies[entry.offset]}
        return {entry.content for entry in self.target if entry.offset not in copied}

    def late(self, position: int, answer: int) -> list[int]:
        """Return the unread records whose copies are all below the answer; those that expired there first, too."""
        held, gone = (
            [e.offset for e in entries if e.offset >= position] for entries in (self.source, self.every_source)
        )
        passed = [offset for offset in gone if self.held(offset) and max(self.held(offset)) < answer]
        return passed + [offset for offset in held if self.copies.get(offset) and not self.held(offset)]

    def unseen(self, position: int, answer: int, *, gone_too: bool) -> bool:
        """Return whether a group that resumes at the answer misses a record. Equal records count as one.

        :param gone_too: whether it should see what the source holds and the target deleted
        """
        following = iter(entry.content for entry in self.target if entry.offset >= answer)
        unread = [entry for entry in self.every_source if entry.offset >= position]
        wanted = [entry for entry in unread if self.held(entry.offset) or (gone_too and entry in self.source)]
        return not all(entry.content in following for entry in wanted)

    def again(self, position: int, answer: int) -> list[int]:
        """Return the records below the position that would be delivered again."""
        read = (entry.offset for entry in self.every_source if entry.offset < position)
        return [offset for offset in read if any(found >= answer for found in self.held(offset))]


@st.composite
def logs(
    draw: st.DrawFn,
    *,
    unique: bool,
    foreign: bool = True,
    lossy: bool = False,
    doubled: bool = False,
    expiring: bool = True,
) -> LogPair:
    source: list[Entry] = []
    target: list[Entry] = []
    copies: dict[int, tuple[int, ...]] = {}
    offset, target_offset = 0, 0
    for number in range(draw(st.integers(0, 25))):
        offset += draw(st.sampled_from([0, 0, 0, 1, 3]))
        content = f"{number}".encode() if unique else draw(st.sampled_from([b"a", b"b", b"c"]))
        source.append(Entry(offset, content))
        if foreign and draw(st.sampled_from([False] * 7 + [True])):
            alien = f"foreign {number}".encode() if unique else draw(st.sampled_from([b"a", b"b", b"x"]))
            target.append(Entry(target_offset, alien))
            target_offset += 1
        times = draw(st.sampled_from([1] * 6 + ([0] if lossy else []) + ([2] if doubled else [])))
        made = []
        for _ in range(times):
            target_offset += draw(st.sampled_from([0, 0, 1, 2]))
            target.append(Entry(target_offset, content))
            made.append(target_offset)
            target_offset += 1
        copies[offset] = tuple(made)
        offset += 1
    end, target_end = offset + draw(st.integers(0, 2)), target_offset + draw(st.integers(0, 2))
    start = draw(st.integers(0, end)) if expiring and draw(st.booleans()) else 0
    target_start = draw(st.integers(0, target_end)) if expiring and draw(st.booleans()) else 0
    return LogPair(
        source=tuple(entry for entry in source if entry.offset >= start),
        target=tuple(entry for entry in target if entry.offset >= target_start),
        bounds=RangePair(OffsetRange(start, end), OffsetRange(target_start, target_end)),
        copies=copies,
        every_source=tuple(source),
    )


def translate(found: LogPair, position: int, anchors: Collection[Anchor], *, stride: int = 5) -> Translation:
    """OffsetSearch as the offset map does, with reads that cut from the logs."""

    def cut(entries: Collection[Entry], ranges: Collection[OffsetRange]) -> list[Entry]:
        return [entry for r in ranges for entry in entries if r.start <= entry.offset < r.end]

    usable, whole = consistent(anchors, found.bounds), nothing_expired_early(anchors, found.bounds)
    search = OffsetSearch(position, held=found.bounds, anchors=usable, whole=whole, stride=stride)
    finish(
        {PARTITION: [search]},
        lambda source, target: (
            {p: cut(found.source, ranges) for p, ranges in source.items()},
            {p: cut(found.target, ranges) for p, ranges in target.items()},
        ),
    )
    assert search.result is not None
    return search.result


def compacted(found: LogPair, data: st.DataObject) -> LogPair:
    """Let both cleaners take away what they like of the records that newer ones supersede."""
    superseded = data.draw(st.sets(st.sampled_from(found.source[:-1]))) if len(found.source) > 1 else set()
    contents = {entry.content for entry in superseded}

    def cleaned(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(e for e in entries if e.content not in contents or data.draw(st.booleans()))

    return replace(found, source=cleaned(found.source), target=cleaned(found.target))


def some(data: st.DataObject, anchors: list[Anchor]) -> list[Anchor]:
    return data.draw(st.lists(st.sampled_from(anchors), unique=True)) if anchors else []


def log_of(contents: str, *, start: int = 0) -> tuple[Entry, ...]:
    return tuple(Entry(start + at, content.encode()) for at, content in enumerate(contents))


def two_logs(source: str, target: str, *, source_start: int = 0, target_start: int = 0) -> LogPair:
    here, there = log_of(source, start=source_start), log_of(target, start=target_start)
    bounds = RangePair(
        OffsetRange(source_start, source_start + len(source)), OffsetRange(target_start, target_start + len(target))
    )
    return LogPair(here, there, bounds, {}, here)


def numbered(count: int, source_start: int, target_start: int) -> LogPair:
    """Return a log of records that all differ and its copy with a marker after each, without their beginnings.

    :param target_start: the first record that the target holds, by its offset on the source
    """
    every = tuple(Entry(at, b"%d" % at) for at in range(count))
    copies = tuple(Entry(2 * at, b"%d" % at) for at in range(target_start, count))
    bounds = RangePair(OffsetRange(source_start, count), OffsetRange(2 * target_start, 2 * count))
    return LogPair(every[source_start:], copies, bounds, {at: (2 * at,) for at in range(count)}, every)


def copied_twice(count: int) -> LogPair:
    contents = [f"{number}".encode() for number in range(count)]
    source = tuple(Entry(at, content) for at, content in enumerate(contents))
    target = tuple(Entry(at, content) for at, content in enumerate(contents + contents))
    return LogPair(source, target, RangePair(OffsetRange(0, count), OffsetRange(0, 2 * count)), {}, source)
