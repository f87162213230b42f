"""What a conflict is: every planted one is found with its certainty and nothing else, and no claim is ever false."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.conflicts.rules import Meeting, SiteRecord, is_conflict, neighbours
from support.key_fights import SKEW, KeyFights, fights


def found_in(world: KeyFights) -> set[tuple[tuple[int, int, int], tuple[int, int, int], str]]:
    met = (each for records in world.by_key().values() for each in neighbours(records, SKEW))
    return {(at(m.earlier), at(m.later), m.certainty) for m in met if is_conflict(m)}


def at(record: SiteRecord) -> tuple[int, int, int]:
    return record.origin, record.partition, record.offset


@pytest.mark.parametrize("sites", [2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_thousands_of_records_each_planted_conflict_is_found_and_nothing_else(seed: int, sites: int) -> None:
    world = fights(seed, sites=sites, stories=1200, noise=3000)
    assert len(world.records) > 6000
    assert world.within_skew > 0.3
    assert {certainty for _, _, certainty in world.expected} == {"certain", "possible"}
    assert found_in(world) == world.expected


RECORDS = st.lists(
    st.builds(
        SiteRecord,
        origin=st.integers(0, 2),
        partition=st.integers(0, 1),
        offset=st.integers(0, 10_000),
        time_ms=st.integers(0, 40),
        value=st.none() | st.integers(0, 2),
        not_before=st.dictionaries(st.integers(0, 2), st.integers(0, 60)),
        read_by=st.dictionaries(st.integers(0, 2), st.integers(0, 60)),
        stamped=st.booleans(),
    ),
    max_size=25,
    unique_by=lambda each: (each.origin, each.partition, each.offset),
)


def before(a: SiteRecord, b: SiteRecord) -> bool:
    return (a.time_ms, a.origin, a.partition, a.offset) < (b.time_ms, b.origin, b.partition, b.offset)


def could_not_see(writer: SiteRecord, other: SiteRecord, skew: int) -> bool:
    earliest = other.time_ms
    if writer.origin in other.not_before:
        earliest = max(earliest, other.not_before[writer.origin])
    return earliest - writer.time_ms > skew


def had_read(writer: SiteRecord, other: SiteRecord, skew: int) -> bool:
    if writer.stamped or writer.origin not in other.read_by:
        return False
    return writer.time_ms - other.read_by[writer.origin] >= skew


def compared_with_all(records: list[SiteRecord], skew: int) -> Iterable[tuple[SiteRecord, SiteRecord, str]]:
    """Every record with every other one, in the words of the definition."""
    for a, b in product(records, repeat=2):
        between = (c for c in records if c.origin == a.origin and before(a, c) and before(c, b))
        if a.origin == b.origin or not before(a, b) or any(between):
            continue
        concurrent = could_not_see(a, b, skew) and could_not_see(b, a, skew)
        followed = had_read(a, b, skew) or had_read(b, a, skew)
        if concurrent and not followed:
            yield a, b, "certain"
        elif concurrent or not followed:
            yield a, b, "possible"


@given(RECORDS, st.integers(0, 15))
def test_neighbours_are_what_a_comparison_of_all_with_all_finds(records: list[SiteRecord], skew: int) -> None:
    found = [(m.earlier, m.later, m.certainty) for m in neighbours(records, skew) if is_conflict(m)]
    expected = list(compared_with_all(records, skew))
    assert sorted((at(a), at(b), c) for a, b, c in found) == sorted((at(a), at(b), c) for a, b, c in expected)


@st.composite
def true_worlds(draw: st.DrawFn) -> tuple[int, list[tuple[SiteRecord, int, dict[int, int], dict[int, int]]]]:
    """Records with what really happened: when each was written, arrived and was read; clocks differ by the skew."""
    skew = draw(st.integers(0, 20))
    clocks = [draw(st.integers(0, skew)) for _ in range(3)]
    audit = draw(st.integers(0, skew))
    found = []
    for offset in range(draw(st.integers(2, 12))):
        origin, true = draw(st.integers(0, 2)), draw(st.integers(100, 300))
        arrived = {site: true + draw(st.integers(0, 150)) for site in range(3) if site != origin}
        read = {site: when + draw(st.integers(0, 100)) for site, when in arrived.items()}
        # An audit looks some time before the arrival, the readers are looked at some time after they have read.
        absent = {s: when - draw(st.integers(1, 90)) + audit for s, when in arrived.items() if draw(st.booleans())}
        seen = {s: when + draw(st.integers(0, 90)) + audit for s, when in read.items() if draw(st.booleans())}
        record = SiteRecord(origin, 0, offset, true + clocks[origin], offset, absent, seen)
        found.append((record, true, arrived, read))
    return skew, found


@given(true_worlds())
def test_what_is_certain_was_never_seen_and_what_is_ordered_was_read(
    world: tuple[int, list[tuple[SiteRecord, int, dict[int, int], dict[int, int]]]],
) -> None:
    skew, happened = world
    truth = {at(record): (true, arrived, read) for record, true, arrived, read in happened}
    for met in neighbours([record for record, *_ in happened], skew):
        one, other = met.earlier, met.later
        (true_one, arrived_one, read_one), (true_other, arrived_other, read_other) = truth[at(one)], truth[at(other)]
        if met.certainty == "certain":
            assert true_other < arrived_one[other.origin]
            assert true_one < arrived_other[one.origin]
        if met.certainty == "ordered":
            assert read_one[other.origin] <= true_other or read_other[one.origin] <= true_one


def test_a_key_that_is_written_very_often_costs_one_look_at_each_record() -> None:
    records = [SiteRecord(n % 3, 0, n, n, n) for n in range(60_000)]
    assert sum(1 for _ in neighbours(records, 5)) == 2 * len(records) - 3


def test_the_later_time_wins_and_of_equal_times_the_site_that_is_declared_first() -> None:
    first, second, later = SiteRecord(0, 0, 7, 10, 1), SiteRecord(1, 0, 3, 10, 1), SiteRecord(0, 1, 8, 31, None)
    tie, apart = Meeting(first, second, 20), Meeting(second, later, 20)
    assert (tie.winner, tie.margin_ms, tie.within_skew, tie.equal, tie.kind) == (first, 0, True, True, "write_write")
    assert (apart.winner, apart.margin_ms, apart.within_skew, apart.equal) == (later, 21, False, False)
    assert apart.kind == "delete_write"
    assert apart.partition_differs
    assert Meeting(later, SiteRecord(1, 1, 9, 40, None), 20).kind == "write_write"


def test_a_time_that_a_broker_gave_never_proves_that_a_writer_had_read() -> None:
    read = SiteRecord(0, 0, 0, 10, 1, read_by={1: 20})
    assert Meeting(read, SiteRecord(1, 0, 0, 90, 2), 5).certainty == "ordered"
    assert Meeting(read, SiteRecord(1, 0, 0, 90, 2, stamped=True), 5).certainty == "possible"


def test_what_was_seen_of_two_clocks_and_contradicts_itself_is_possible_and_never_ordered() -> None:
    contradicted = SiteRecord(0, 0, 0, 10, 1, not_before={1: 200}, read_by={1: 20})
    assert Meeting(contradicted, SiteRecord(1, 0, 0, 90, 2), 5).certainty == "possible"
