"""What each reader of a partition has not read, from one reading of the log for all of them.

The positions of all readers split the log into stretches. Each stretch is read once; what a reader has not read is the
sum of the stretches from its position on. A stretch that is too long is read from its beginning up to a limit, and the
rest is estimated from that and marked as an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from kafka_dr.lag.verdict import Sample


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """The offsets ``start <= offset < end`` of a partition, of which those below ``read_end`` are read."""

    topic: str
    partition: int
    start: int
    end: int
    read_end: int


@dataclass(frozen=True, slots=True)
class StretchContent:
    """What was read of a stretch.

    :param records: data records; control records and aborted ones do not count
    :param size: bytes of their keys, values and headers
    :param first_timestamp_ms: of the first of them; ``None`` if there is none
    """

    records: int
    size: int
    first_timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """What a reader has not read.

    :param exact: whether all of it was read; otherwise records and bytes are an estimate
    """

    records: int = 0
    size: int = 0
    first_timestamp_ms: int | None = None
    exact: bool = True


def cut(
    topic: str, partition: int, *, positions: Iterable[int], start: int, end: int, most: int
) -> tuple[Stretch, ...]:
    """Split a log at the positions of its readers.

    :param positions: next to read, of every reader; one outside the log is moved to its nearer end
    :param start: the log start offset
    :param end: the last stable offset
    :param most: offsets of one stretch that are read at most
    """
    borders = sorted({min(max(position, start), end) for position in positions} | {end})
    return tuple(Stretch(topic, partition, begin, stop, min(stop, begin + most)) for begin, stop in pairwise(borders))


def before(position: int, stretches: Sequence[tuple[Stretch, StretchContent]], *, until: int | None = None) -> Unread:
    """Return what a reader has not read of the partition of these stretches.

    :param position: next to read
    :param until: leave out what begins at this offset or later; another reader's position
    """
    mine = [
        (stretch, content)
        for stretch, content in stretches
        if stretch.start >= position and (until is None or stretch.end <= until)
    ]
    mine.sort(key=lambda each: each[0].start)
    return Unread(
        records=sum(_records(*each) for each in mine),
        size=sum(_scaled(content.size, stretch) for stretch, content in mine),
        first_timestamp_ms=_first_timestamp(mine),
        exact=all(_whole(stretch) for stretch, _ in mine),
    )


def _whole(stretch: Stretch) -> bool:
    return stretch.read_end == stretch.end


def _records(stretch: Stretch, content: StretchContent) -> int:
    """If only control records were read, and not to the end, every offset after them may be a record."""
    if not content.records and not _whole(stretch):
        return stretch.end - stretch.read_end
    return _scaled(content.records, stretch)


def _scaled(read: int, stretch: Stretch) -> int:
    return round(read * (stretch.end - stretch.start) / (stretch.read_end - stretch.start))


def _first_timestamp(stretches: Iterable[tuple[Stretch, StretchContent]]) -> int | None:
    for stretch, content in stretches:
        if content.first_timestamp_ms is not None or not _whole(stretch):
            return content.first_timestamp_ms
    return None


def age_seconds(
    timestamp_ms: int | None, *, position: int, now: datetime, earlier: Iterable[Sample] = ()
) -> float | None:
    """Return the age of the first unread record.

    Its timestamp comes from its producer, and may be anything. Earlier looks correct it: a record that did not exist at
    a look is younger than the look; a record that was unread from the same position then is at least as old.

    :param timestamp_ms: of the first unread record; ``None`` if it could not be read
    :param position: next to read, at most the offset of that record
    :param now: aware
    :param earlier: looks at the same life of the partition
    """
    if timestamp_ms is None:
        return None
    oldest, youngest = timedelta.max, timedelta(0)
    for look in earlier:
        if look.end <= position or (look.position == position and look.records == 0):
            oldest = min(oldest, now - look.at)
        elif look.position == position:
            youngest = max(youngest, now - look.at)
    stamped = max(now.timestamp() - timestamp_ms / 1000, 0.0)
    return round(max(min(stamped, oldest.total_seconds()), youngest.total_seconds()), 3)
