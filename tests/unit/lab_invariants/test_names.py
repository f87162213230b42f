"""The check where copies have other names: each log by its origin, late records as listed, groups where they were."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.invariants.app_logs import read_app_logs
from lab.invariants.check import check_invariants
from lab.invariants.completeness import completeness
from lab.invariants.continued import Handover, check_continued
from lab.invariants.late import check_late
from lab.invariants.model import (
    ActivePeriod,
    Commit,
    Delivery,
    LateRecords,
    LogRecord,
    LostCluster,
    Observation,
    Partition,
    RecordId,
    StrandedRecord,
    Write,
)
from lab.invariants.names import Names

NAMES = Names(("east", "west"))
OF_EAST, OF_WEST = Partition("orders.payments", 0, "east"), Partition("orders.payments", 0, "west")
GROUP = "orders-head"
#: East is active until 100, west until 200, when it is lost; four of its records were not copied.
WRITTEN = {OF_EAST: range(10), OF_WEST: range(10, 20)}
COPIED, AT, LOST_AT = range(10, 16), 100.0, 200.0


def number(sequence: int) -> RecordId:
    return RecordId("payments", sequence)


def log(sequences: range, *, first: int = 0) -> tuple[LogRecord, ...]:
    return tuple(LogRecord(first + index, number(each)) for index, each in enumerate(sequences))


def write(sequence: int) -> Write:
    cluster, at = ("east", 10.0) if sequence < 10 else ("west", 110.0)
    return Write(number(sequence), NAMES.place(cluster, "orders.payments", 0), sequence % 10, cluster, at)


def delivery(sequence: int, cluster: str, at: float) -> Delivery:
    return Delivery(GROUP, number(sequence), OF_EAST if sequence < 10 else OF_WEST, sequence % 10, cluster, at)


def world() -> Observation:
    """The group has read 7 records on east, the next ones on west, and 4 of them again on east after the disaster."""
    return Observation(
        writes=[write(each) for each in range(20)],
        deliveries=[
            *(delivery(each, "east", 20.0) for each in range(7)),
            *(delivery(each, "west", 120.0) for each in range(7, 20)),
            *(delivery(each, "east", 220.0) for each in (7, 8, 9, 15, 16)),
        ],
        commits=[
            Commit(GROUP, OF_EAST, 7, "east", 30.0),
            Commit(GROUP, OF_WEST, 0, "east", 30.0),
            Commit(GROUP, OF_EAST, 107, "west", 101.0),
            Commit(GROUP, OF_WEST, 0, "west", 101.0),
        ],
        logs={
            "east": {OF_EAST: log(range(10)), OF_WEST: log(range(10, 20), first=50)},
            "west": {OF_EAST: log(range(10), first=100), OF_WEST: log(range(10, 20))},
        },
        groups=(GROUP,),
        stranded=[StrandedRecord(OF_WEST, sequence % 10, number(sequence)) for sequence in range(16, 20)],
    )


LATE = LateRecords(
    "east",
    {OF_EAST: log(range(10)), OF_WEST: log(COPIED, first=50)},
    {OF_EAST: log(range(10), first=100), OF_WEST: log(range(10, 20))},
)
LEFT = LostCluster("west", since=LOST_AT, reachable=210.0, fenced=215.0, within=90.0, predicted_loss=3, late=LATE)
THERE = Handover("east", "west", AT, LOST_AT)
BACK = Handover("west", "east", LOST_AT, 300.0, said={GROUP: 4})


def test_a_partition_is_called_the_same_on_both_clusters_by_its_origin() -> None:
    assert NAMES.on("west", ["orders.payments"]) == ["orders.payments", "east.orders.payments"]
    assert NAMES.place("west", "east.orders.payments", 0) == NAMES.place("east", "orders.payments", 0) == OF_EAST
    assert [NAMES.called(cluster, OF_EAST) for cluster in ("east", "west")] == [
        "orders.payments",
        "east.orders.payments",
    ]
    assert (str(OF_EAST), OF_EAST.of_any) == ("east.orders.payments-0", Partition("orders.payments", 0))
    assert Names().place("west", "east.orders", 1) == Partition("east.orders", 1), "else a name is a name"


def test_what_applications_say_is_about_the_log_that_they_had(tmp_path: Path) -> None:
    start = {"event": "start", "role": "settler", "cluster": "west", "topic": "orders.invoices", "group": "g"}
    rows = [[3, 7, "payments", 1, "east.orders.payments"], [3, 8, "payments", 2, "orders.payments"], [3, 9, "p", 3]]
    lines = [
        {**start, "input": "orders.payments", "at": 1.0},
        {"event": "sent", "transaction": 0, "sequences": [0, 2], "inputs": rows, "at": 2.0},
        {"event": "committed", "transaction": 0, "records": [[0, 1, 5]], "at": 3.0},
    ]
    (tmp_path / "billing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = read_app_logs(tmp_path, NAMES)
    assert [str(each.partition) for each in said.writes] == ["west.orders.invoices-1"]
    assert [each.partition.origin for each in said.deliveries] == ["east", "west", "west"]


def test_a_record_in_the_copy_is_there_and_one_in_the_other_log_is_not() -> None:
    assert completeness(world(), active="east").lost == ()
    moved = replace(world(), logs={"east": {OF_EAST: log(range(20)), OF_WEST: ()}, "west": {}}, stranded=())
    assert {each.record for each in completeness(moved, active="east").lost} == set(map(number, range(10, 20)))


def test_an_outage_is_of_a_partition_as_applications_know_it() -> None:
    periods = [ActivePeriod("east", 0.0), ActivePeriod("west", AT)]
    (switch,) = check_invariants(world(), periods).switches
    assert switch.write_outage_seconds == 100.0


def test_late_records_that_are_listed_and_arrive_once_in_their_order_are_as_they_should_be() -> None:
    found = check_late(world(), LEFT)
    assert found.outcome == "held", found
    assert "4 were on west alone, and each arrived on east once" in found.sentence
    later = Write(number(20), OF_EAST, 10, "east", 230.0)  # not on east when west came back, and no loss
    seen = replace(world(), writes=[*world().writes, later])
    verdict = check_invariants(seen, [ActivePeriod("west", AT), ActivePeriod("east", LOST_AT)], left=LEFT)
    assert {each.invariant: each.outcome for each in verdict.findings}["I4"] == "held", verdict
    losses = verdict.figures.losses
    assert losses is not None
    assert (losses.real, losses.stranded, losses.rescued) == (4, 4, 4)


@pytest.mark.parametrize(
    "arrived",
    [range(10, 19), (*range(10, 18), 19, 18), (*range(10, 17), 16, *range(17, 20))],
    ids=["dropped", "out of order", "twice"],
)
def test_a_late_record_that_does_not_arrive_as_listed_is_found(arrived: Iterable[int]) -> None:
    held = tuple(LogRecord(50 + index, number(each)) for index, each in enumerate(arrived))
    broken = replace(world(), logs={**world().logs, "east": {OF_EAST: log(range(10)), OF_WEST: held}})
    assert check_late(broken, LEFT).outcome == "violated"


def test_a_late_record_that_is_not_in_the_list_and_one_too_many_are_found() -> None:
    listed = list(world().stranded)
    more = StrandedRecord(OF_WEST, 3, number(13))
    for stranded in (listed[1:], [*listed, more]):
        assert check_late(replace(world(), stranded=stranded), LEFT).outcome == "violated"
    assert check_late(world(), replace(LEFT, late=None)).outcome == "unknown"


def test_groups_that_continue_at_the_exact_record_and_read_again_what_was_said() -> None:
    found = check_continued(world(), [THERE, BACK])
    assert found.outcome == "held", found
    assert "east → west: 2 positions at the exact record" in found.sentence
    assert "west → east: 4 records read again, and its run had said at most 4" in found.sentence, "no late record"


@pytest.mark.parametrize("put", [106, 108])
def test_a_position_one_record_off_is_found_in_a_copy(put: int) -> None:
    commits = [replace(each, offset=put) if each.offset == 107 else each for each in world().commits]
    found = check_continued(replace(world(), commits=commits), [THERE, BACK])
    assert found.outcome == "violated"
    assert "was to read payments#7 next in east.orders.payments-0 on east" in found.examples[0]


def test_more_read_again_than_was_said_is_found_and_what_no_run_said_is_unknown() -> None:
    assert check_continued(world(), [replace(BACK, said={GROUP: 3})]).outcome == "violated"
    assert check_continued(world(), [replace(BACK, said={GROUP: None})]).outcome == "unknown"
    assert check_continued(world(), [replace(BACK, said={})]).outcome == "held", "a group that never commits"
