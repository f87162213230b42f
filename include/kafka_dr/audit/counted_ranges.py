"""Fewer ranges that count the same records: what is journaled of a copy stays small, however many faults it has."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_dr.positions import CountedRange

#: Ranges of one partition that are kept.
MOST_RANGES = 64


def gathered(ranges: Iterable[CountedRange], most: int = MOST_RANGES) -> tuple[CountedRange, ...]:
    """Join neighbours until at most ``most`` ranges are left, with about as many records in each.

    What the result says of the records from an offset on is never less than what the ranges say. Of ranges that do not
    overlap, it is more by at most one ``most``-th of all records.
    """
    rising = sorted(each for each in ranges if each.records)
    if len(rising) <= most:
        return tuple(rising)
    total = sum(each.records for each in rising)
    found: list[CountedRange] = []
    below, last_share = 0, -1
    for each in rising:
        share = below * most // total
        if share == last_share:
            before = found[-1]
            found[-1] = CountedRange(before.start, max(before.end, each.end), before.records + each.records)
        else:
            found.append(each)
        below, last_share = below + each.records, share
    return tuple(found)
