"""Logs of two clusters in memory, for tests of what is found out about a flow that somebody else runs."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.audit.corruption import Parts, Payload
from kafka_dr.observation.comparison import PartitionComparison, compare
from kafka_dr.observation.meaning import Circumstances
from kafka_dr.observation.records import ReadLog, SeenRecord
from kafka_dr.positions import OffsetRange, TopicPartition

PARTITION = TopicPartition("orders", 0)
#: Milliseconds; records of a test are one second apart, from 0.
LATE_BEFORE = 10_000_000


def seen(
    offset: int, content: str | int, *, key: str | None = None, time: int | None = None, stamped: bool = False
) -> SeenRecord:
    """Return a record that only its content distinguishes from others."""
    moment = 1_000 * (content if isinstance(content, int) else 0) if time is None else time
    value = None if content == "" else str(content).encode()
    payload = Payload(None if key is None else key.encode(), value, (), moment)
    return SeenRecord(offset, moment, stamped, Parts.of(payload))


def log(records: Iterable[SeenRecord], *, held_from: int = 0, read_from: int | None = None, end: int = 0) -> ReadLog:
    """Return a log that ends after its last record."""
    found = tuple(records)
    until = max(end, found[-1].offset + 1 if found else 0)
    return ReadLog(
        found, OffsetRange(held_from if read_from is None else read_from, until), OffsetRange(held_from, until)
    )


def numbered(contents: Iterable[int], *, start: int = 0) -> ReadLog:
    """Return a log of these contents, at rising offsets."""
    return log((seen(start + n, content) for n, content in enumerate(contents)), held_from=start)


def compared(
    source: ReadLog,
    target: ReadLog,
    *,
    compacted: bool | None = False,
    aborted: Iterable[SeenRecord] = (),
    late_before: int = LATE_BEFORE,
    settled: tuple[int, int] | None = None,
) -> PartitionComparison:
    """Compare two logs."""
    known = Circumstances(late_before, compacted, frozenset(record.parts for record in aborted), settled)
    return compare(PARTITION, source, target, known)
