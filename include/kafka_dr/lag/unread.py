"""What lies unread before each reader of a partition, from one reading that all of them share.

The positions of all readers cut the log into stretches. Each stretch is read once; what lies before a reader is the sum
of the stretches from his position on. A stretch that is too long is read from its beginning as far as allowed, and the
rest is estimated from that and said to be.
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
class Content:
    """What was read of a stretch.

    :param records: data records; control and aborted ones are none
    :param size: bytes of their keys, values and headers
    :param first_timestamp_ms: of the first of them; ``None`` where there is none
    """

    records: int
    size: int
    first_timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """What lies before a reader.

    :param exact: whether all of it was read; otherwise records and bytes are an estimate
    """

    records: int = 0
    size: int = 0
    first_timestamp_ms: int | None = None
    exact: bool = True


def cut(
    topic: str, partition: int, *, positions: Iterable[int], start: int, end: int, most: int
) -> tuple[Stretch, ...]:
    """Cut a log at the positions of its readers.

    :param positions: next to read, of every reader; those outside of the log are moved to its nearer end
    :param start: the first offset that is still there
    :param end: up to where there is something to read
    :param most: offsets of one stretch that are read
    """
    borders = sorted({min(max(position, start), end) for position in positions} | {end})
    return tuple(Stretch(topic, partition, here, there, min(there, here + most)) for here, there in pairwise(borders))


def before(position: int, stretches: Sequence[tuple[Stretch, Content]], *, until: int | None = None) -> Unread:
    """Return what lies before a reader of the partition that the stretches are of.

    :param position: where he reads next
    :param until: leave out what begins there or later; another reader's position
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


def _records(stretch: Stretch, content: Content) -> int:
    """Where nothing but control records was read and not to the end, every offset behind them may be a record."""
    if not content.records and not _whole(stretch):
        return stretch.end - stretch.read_end
    return _scaled(content.records, stretch)


def _scaled(read: int, stretch: Stretch) -> int:
    return round(read * (stretch.end - stretch.start) / (stretch.read_end - stretch.start))


def _first_timestamp(stretches: Iterable[tuple[Stretch, Content]]) -> int | None:
    for stretch, content in stretches:
        if content.first_timestamp_ms is not None or not _whole(stretch):
            return content.first_timestamp_ms
    return None


def age_seconds(
    timestamp_ms: int | None, *, position: int, now: datetime, earlier: Iterable[Sample] = ()
) -> float | None:
    """Return how long the first unread record has been lying there.

    Its timestamp comes from whoever wrote it, and may be anything. Earlier looks correct it: what was not there at a
    look is younger than the look, what was unread from the same position then is at least as old.

    :param timestamp_ms: of the first unread record; ``None`` where it could not be read
    :param position: where reading would go on, at most the offset of that record
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
