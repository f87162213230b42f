"""Hub and spoke: hubs hold what spokes took, nobody writes to a hub, and a moving group reads on one hub at a time."""

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

EAST = Partition("orders.payments", 0, "east")
HUBS, MOVES = ("north", "south"), "moves-north"
#: The readers of north are on south for a while.
PERIODS: Mapping[str, Sequence[ActivePeriod]] = {
    "east": [ActivePeriod("east", 0.0)],
    "north": [ActivePeriod("north", 0.0), ActivePeriod("south", 10.0), ActivePeriod("north", 20.0)],
    "south": [ActivePeriod("south", 0.0)],
}
WRITES = tuple(Write(RecordId("payments-east", n), EAST, n, "east", 1.0 + 10 * n) for n in range(3))
LOG = tuple(LogRecord(each.offset, each.record) for each in WRITES)
#: When the group has read each record, and where.
READ = (("north", 2.0), ("south", 12.0), ("north", 22.0))


def observed() -> Observation:
    return Observation(
        writes=WRITES,
        deliveries=[Delivery(MOVES, WRITES[n].record, EAST, n, hub, at) for n, (hub, at) in enumerate(READ)],
        commits=[Commit(MOVES, EAST, n + 1, hub, at + 1) for n, (hub, at) in enumerate(READ)],
        logs={cluster: {EAST: LOG} for cluster in ("east", *HUBS)},
    )


def judged(observation: Observation) -> InvariantReport:
    return check_members(observation, PERIODS, left=None, hubs=HUBS)


def outcomes(report: InvariantReport) -> dict[str, str]:
    return {each.invariant: each.outcome for each in report.findings}


def test_hubs_that_hold_what_spokes_took_are_well_and_show_when_readers_worked_again() -> None:
    report = judged(observed())
    assert outcomes(report) == {"I1": "held", "I2": "held", "I3": "held", "I10": "held"}
    assert not report.unknown
    assert [(each.target, each.restored_seconds) for each in report.switches] == [("south", 2.0), ("north", 2.0)]
    assert {each.write_outage_seconds for each in report.switches} == {None}, "nobody writes to a hub"


def test_a_write_to_a_hub_is_one_too_many() -> None:
    wrong = Write(RecordId("payments-north", 0), Partition("orders.payments", 0, "north"), 0, "north", 3.0)
    assert outcomes(judged(replace(observed(), writes=(*WRITES, wrong))))["I1"] == "violated"


@pytest.mark.parametrize("hub", HUBS)
def test_a_record_that_one_hub_lacks_is_lost_there(hub: str) -> None:
    found = judged(replace(observed(), logs={**observed().logs, hub: {EAST: LOG[:2]}}))
    assert outcomes(found)["I2"] == "violated"


def test_a_group_that_reads_on_the_hub_that_it_has_left_runs_on_two() -> None:
    late = Commit(MOVES, EAST, 2, "north", 15.0)
    found = observed()
    assert outcomes(judged(replace(found, commits=[*found.commits, late])))["I1"] == "violated"


def test_a_group_that_reads_nothing_on_the_next_hub_leaves_its_time_unknown() -> None:
    found = observed()
    report = judged(replace(found, deliveries=[each for each in found.deliveries if each.cluster == "north"]))
    assert report.switches[0].restored_seconds is None
    assert report.unknown
