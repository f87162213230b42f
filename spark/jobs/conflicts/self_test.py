"""Records whose conflicts are known: Spark has to find of them what the rules find, in each audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from kafka_dr.conflicts.arrivals import ArrivalMarks, ArrivalStretch, OffsetMark, stretches
from kafka_dr.conflicts.rules import SiteRecord, neighbours
from kafka_dr_spark import conflicts

_TOPIC, _START, _LONG = "self-test", 1_000_000_000, 100_000_000
_Row = tuple[int, int, int, int, str]


def missed(session: SparkSession, *, skew_ms: int) -> str:
    """Return what Spark says otherwise than the rules; empty if nothing.

    One site writes, another one within the skew, then after it, then after the readers have read, and deletes.
    """
    absent, read = OffsetMark(0, _START + _LONG), OffsetMark(2, _START + 2 * _LONG)
    by_site = {0: [ArrivalMarks(), ArrivalMarks((absent,), (read,))], 1: [ArrivalMarks((absent,)), ArrivalMarks()]}
    known = {origin: stretches(marks) for origin, marks in by_site.items()}
    times = {
        0: (_START, _START + 3 * skew_ms + 2),
        1: (_START + skew_ms, _START + _LONG - skew_ms, _START + 2 * _LONG + skew_ms),
    }
    records = [
        _record(origin, offset, at, known[origin])
        for origin, all_times in times.items()
        for offset, at in enumerate(all_times)
    ]
    wanted = {
        (m.earlier.origin, m.earlier.offset, m.later.offset, m.margin_ms, f"{m.certainty} {m.kind}")
        for m in neighbours(records, skew_ms)
    }
    found = _found(session, records, known, skew_ms)
    return "" if found == wanted else f"expected {sorted(wanted)}, found {sorted(found)}"


def _record(origin: int, offset: int, time_ms: int, known: Sequence[ArrivalStretch]) -> SiteRecord:
    at = next(each for each in known if each.first <= offset and (each.after is None or offset < each.after))
    absent, read = ({n: ms for n, ms in enumerate(each) if ms is not None} for each in (at.not_before, at.read_by))
    return SiteRecord(origin, 0, offset, time_ms, None if offset == 2 else offset, absent, read)


def _found(
    session: SparkSession, records: Sequence[SiteRecord], known: Mapping[int, Sequence[ArrivalStretch]], skew_ms: int
) -> set[_Row]:
    rows: list[tuple[Any, ...]] = [
        (e.origin, _TOPIC, 0, e.offset, e.time_ms, False, "k", None, e.value, True, [], None) for e in records
    ]
    arrivals = [
        (origin, _TOPIC, 0, s.first, s.after, list(s.not_before), list(s.read_by))
        for origin, each in known.items()
        for s in each
    ]
    met = conflicts.meetings(
        session.createDataFrame(rows, conflicts.SITE_RECORDS),
        session.createDataFrame(arrivals, conflicts.ARRIVALS),
        sites=2,
    )
    return {
        (row["earlier"]["origin"], row["earlier"]["offset"], row["later"]["offset"], row["margin_ms"],
         f"{row['certainty']} {row['kind']}")
        for row in conflicts.judged(met, skew_ms=skew_ms).collect()
    }  # fmt: skip
