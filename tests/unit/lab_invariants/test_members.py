"""Active-active use: each origin has its own writer, its own log, and groups that see all of it on each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lab.invariants.members import check_members
from lab.invariants.model import (
    ActivePeriod,
    Commit,
    Delivery,
    InvariantReport,
    LogRecord,
    Observation,
    Partition,
    RecordId,
    Write,
)

EAST, WEST = (Partition("orders.payments", 0, origin) for origin in ("east", "west"))
BEGAN, LEFT, BACK = 0.0, 10.0, 20.0
#: The clients of east are on west for a while.
PERIODS: Mapping[str, Sequence[ActivePeriod]] = {
    "east": [ActivePeriod("east", BEGAN), ActivePeriod("west", LEFT), ActivePeriod("east", BACK)],
    "west": [ActivePeriod("west", BEGAN)],
}


def written(member: str, sequence: int, partition: Partition, offset: int, at: float) -> Write:
    return Write(RecordId(f"payments-{member}", sequence), partition, offset, partition.origin, at)


WRITES = (
    written("east", 1, EAST, 0, 1.0),
    written("west", 1, WEST, 0, 2.0),
    written("east", 2, WEST, 1, 11.0),
    written("west", 2, WEST, 2, 12.0),
    written("east", 3, EAST, 1, 21.0),
)
LOGS = {
    part: tuple(LogRecord(each.offset, each.record) for each in WRITES if each.partition == part)
    for part in (EAST, WEST)
}


def seen(member: str, *, until: Mapping[Partition, int]) -> tuple[list[Delivery], list[Commit]]:
    """Return what a group processed on a member, and its positions after that."""
    read = [
        Delivery("readers", each.record, part, each.offset, member, 30.0)
        for part, log in LOGS.items()
        for each in log
        if each.record is not None and each.offset < until[part]
    ]
    return read, [Commit("readers", part, offset, member, 31.0) for part, offset in until.items()]


def observed() -> Observation:
    everything = [seen(member, until={EAST: 2, WEST: 3}) for member in PERIODS]
    return Observation(
        writes=WRITES,
        deliveries=[each for deliveries, _ in everything for each in deliveries],
        commits=[each for _, commits in everything for each in commits],
        logs={"east": LOGS, "west": LOGS},
    )


def outcomes(report: InvariantReport) -> dict[str, str]:
    return {each.invariant: each.outcome for each in report.findings}


ALL_HELD = {"I1": "held", "I2": "held", "I3": "held", "I10": "held"}


def test_members_that_hold_what_the_others_took_are_well() -> None:
    report = check_members(observed(), PERIODS, left=None)
    assert outcomes(report) == ALL_HELD
    assert report.held
    assert [(each.source, each.target, each.write_outage_seconds) for each in report.switches] == [
        ("east", "west", 10.0),
        ("west", "east", 10.0),
    ]


def test_a_write_of_the_clients_to_the_member_that_they_left_is_a_second_writer() -> None:
    late = written("east", 4, EAST, 2, 15.0)
    report = check_members(replace(observed(), writes=(*WRITES, late)), PERIODS, left=None)
    assert outcomes(report)["I1"] == "violated"


@pytest.mark.parametrize("member", ["east", "west"])
@pytest.mark.parametrize("part", [EAST, WEST])
def test_a_record_that_is_not_on_each_member_is_lost_or_a_copy_differs(member: str, part: Partition) -> None:
    logs = {name: dict(LOGS) for name in PERIODS}
    logs[member][part] = LOGS[part][1:]
    assert outcomes(check_members(replace(observed(), logs=logs), PERIODS, left=None))["I2"] == "violated"


@pytest.mark.parametrize("held", [[1, 0], [0, 1, 1]])
def test_a_copy_in_another_order_or_with_a_record_twice_is_found(held: list[int]) -> None:
    logs = {name: dict(LOGS) for name in PERIODS}
    logs["west"][EAST] = tuple(LogRecord(n, LOGS[EAST][each].record) for n, each in enumerate(held))
    assert outcomes(check_members(replace(observed(), logs=logs), PERIODS, left=None))["I2"] == "violated"


def test_a_record_that_came_back_under_another_origin_is_a_loop() -> None:
    logs = {name: dict(LOGS) for name in PERIODS}
    logs["east"][WEST] = (*LOGS[WEST], LogRecord(3, LOGS[EAST][0].record))
    assert outcomes(check_members(replace(observed(), logs=logs), PERIODS, left=None))["I10"] == "violated"


def test_what_a_group_has_seen_on_one_member_does_not_count_on_another() -> None:
    read, _ = seen("west", until={EAST: 2, WEST: 1})
    _, commits = seen("west", until={EAST: 2, WEST: 3})
    on_east = seen("east", until={EAST: 2, WEST: 3})
    found = replace(observed(), deliveries=[*on_east[0], *read], commits=[*on_east[1], *commits])
    report = check_members(found, PERIODS, left=None)
    assert outcomes(report)["I3"] == "violated"
    assert report.figures.skipped == 2


def test_without_copies_there_is_nothing_to_compare() -> None:
    apart = {"east": {EAST: LOGS[EAST]}, "west": {WEST: LOGS[WEST]}}
    report = check_members(replace(observed(), logs=apart), PERIODS, left=None)
    assert outcomes(report)["I2"] == "violated"
    nothing = check_members(replace(observed(), writes=(), logs={"east": {}, "west": {}}), PERIODS, left=None)
    assert outcomes(nothing)["I2"] == "unknown"


def moving(*at: tuple[str, float, Mapping[Partition, int]]) -> Observation:
    """Return the same with a group that moves with the clients of east: where and when it has read how far.

    It has read everything on east before.
    """
    first, _ = seen("east", until={EAST: 2, WEST: 3})
    read = [replace(each, group="moves-east", at=9.0) for each in first if each.offset < 1]
    commits = [Commit("moves-east", part, to, member, when) for member, when, until in at for part, to in until.items()]
    found = observed()
    return replace(found, deliveries=[*found.deliveries, *read], commits=[*found.commits, *commits])


def test_a_group_that_moves_has_seen_on_one_member_what_it_is_past_on_the_next() -> None:
    first = {EAST: 1, WEST: 1}
    report = check_members(moving(("east", 9.5, first), ("west", 10.5, first)), PERIODS, left=None)
    assert outcomes(report) == ALL_HELD
    skips = check_members(moving(("east", 9.5, first), ("west", 10.5, {EAST: 2, WEST: 1})), PERIODS, left=None)
    assert outcomes(skips)["I3"] == "violated"


def test_a_group_that_moves_runs_on_one_member_at_a_time() -> None:
    first = {EAST: 1, WEST: 1}
    both = moving(("east", 9.5, first), ("west", 10.5, first), ("east", 11.0, first))
    assert outcomes(check_members(both, PERIODS, left=None))["I1"] == "violated"
