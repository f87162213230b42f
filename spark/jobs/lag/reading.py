"""What a lag audit reads: the offset syncs on the target, then each offset of the source that is needed, once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pyspark.sql import Row, SparkSession

from jobs.lag.facts import LagFacts
from kafka_dr.clusters import ClientSettings, OffsetRange
from kafka_dr.durations import duration
from kafka_dr.lag.assessment import PartitionSeen
from kafka_dr.lag.unread import Stretch, StretchContent, cut
from kafka_dr_spark.kafka_ranges import Ranges, read_ranges
from kafka_dr_spark.offset_syncs import decode, newest
from kafka_dr_spark.stretches import POINTS, STRETCHES, measure

#: Latency is that of records that were copied lately: their greatest age, their number in each partition, and the
#: offsets between the first and the last of them.
COPIED_WITHIN = timedelta(minutes=15)
MOST_COPIED = 100
COPIED_SPAN = 10_000

#: A topic and the number of a partition.
_Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LagReading:
    """What was read.

    :param partitions: with the content of their ranges, and the latencies of their records
    :param records: records of the source that were read
    :param latency_from: how the time of arrival is known, or why it is not
    """

    partitions: tuple[PartitionSeen, ...]
    records: int
    latency_from: str


@dataclass(frozen=True, slots=True)
class _CopiedRecord:
    """A record of the source of which an offset sync says that it arrived."""

    partition: _Partition
    offset: int
    synced_ms: int


def read(
    session: SparkSession, facts: LagFacts, *, source: ClientSettings, target: ClientSettings, most_offsets: int
) -> LagReading:
    """Read the records before each reader, and the timestamps of those that were copied lately.

    :param most_offsets: of one range that are read; the rest is estimated
    """
    stretches = {seen.place: _stretches(seen, facts, most_offsets) for seen in facts.partitions}
    copied = _still_there(_copied(session, facts, target), facts)
    ranges = _ranges(stretches, copied)
    rows = _measured(session, stretches, copied, ranges, source) if ranges else []
    contents = {(row.topic, row.partition, row.start): row for row in rows}
    written = {((row.topic, row.partition), point.offset): point.timestamp_ms for row in rows for point in row.points}
    latencies: dict[_Partition, list[float]] = defaultdict(list)
    for each in copied:
        if (timestamp_ms := written.get((each.partition, each.offset))) is not None:
            latencies[each.partition].append((each.synced_ms - timestamp_ms) / 1000)
    partitions = tuple(
        replace(
            seen,
            stretches=tuple(
                (part, _content(contents.get((*seen.place, part.start)))) for part in stretches[seen.place]
            ),
            latencies=tuple(latencies[seen.place]),
        )
        for seen in facts.partitions
    )
    measured = sum(len(found) for found in latencies.values())
    return LagReading(partitions, sum(row.records for row in rows), _latency_from(facts, measured))


def _stretches(seen: PartitionSeen, facts: LagFacts, most: int) -> tuple[Stretch, ...]:
    positions = [group.positions[seen.place] for group in facts.groups if seen.place in group.positions]
    flow = seen.start if seen.position is None else seen.position
    return cut(*seen.place, positions=[flow, *positions], start=seen.start, end=seen.stable_end, most=most)


def _copied(session: SparkSession, facts: LagFacts, target: ClientSettings) -> list[_CopiedRecord]:
    if facts.syncs is None or not len(facts.syncs[1]):
        return []
    partition, offsets = facts.syncs
    records = read_ranges(
        session, target.spark(), {(partition.topic, partition.partition): [(offsets.start, offsets.end)]}
    )
    since = round((facts.at - COPIED_WITHIN).timestamp() * 1000)
    found = newest(decode(records), since_ms=since, most=MOST_COPIED, span=COPIED_SPAN).collect()
    return [_CopiedRecord((row.topic, row.partition), row.source_offset, row.synced_ms) for row in found]


def _still_there(copied: Iterable[_CopiedRecord], facts: LagFacts) -> list[_CopiedRecord]:
    held = {seen.place: OffsetRange(seen.start, seen.stable_end) for seen in facts.partitions}
    nothing = OffsetRange(0, 0)
    return [each for each in copied if (within := held.get(each.partition, nothing)).start <= each.offset < within.end]


def _ranges(stretches: Mapping[_Partition, Sequence[Stretch]], copied: Iterable[_CopiedRecord]) -> Ranges:
    """Join the ranges, so that no offset is read twice."""
    wanted: dict[_Partition, list[tuple[int, int]]] = defaultdict(list)
    for partition, parts in stretches.items():
        wanted[partition] += [(part.start, part.read_end) for part in parts]
    points: dict[_Partition, list[int]] = defaultdict(list)
    for each in copied:
        points[each.partition].append(each.offset)
    for partition, offsets in points.items():
        wanted[partition].append((min(offsets), max(offsets) + 1))
    return {partition: joined(ranges) for partition, ranges in wanted.items() if ranges}


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same offsets as ranges that neither overlap nor touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _measured(
    session: SparkSession,
    stretches: Mapping[_Partition, Sequence[Stretch]],
    copied: Iterable[_CopiedRecord],
    ranges: Ranges,
    source: ClientSettings,
) -> list[Row]:
    parts = [(each.topic, each.partition, each.start, each.read_end) for found in stretches.values() for each in found]
    points = [(*each.partition, each.offset) for each in copied]
    return measure(
        read_ranges(session, source.spark(), ranges),
        session.createDataFrame(parts, STRETCHES),
        session.createDataFrame(points, POINTS).distinct(),
    ).collect()


def _content(row: Row | None) -> StretchContent:
    return StretchContent(0, 0, None) if row is None else StretchContent(row.records, row.size, row.first_timestamp_ms)


def _latency_from(facts: LagFacts, measured: int) -> str:
    if facts.syncs_missing:
        return f"not known: {facts.syncs_missing}"
    if not measured:
        return f"not known: the flow wrote down no arrival in the last {duration(COPIED_WITHIN)}"
    return (
        f"offset syncs of {measured} records: from a record's own timestamp to the moment at which the Connect worker "
        "wrote down that it can be read on the target"
    )
