"""The benchmark of the switch: what it refuses to judge, and what it says about an invariant that did not hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from kafka_dr.register import RegisterState
from lab.bench import switch
from lab.demo.switch_times import Spread, SwitchTimes
from lab.errors import LabError
from lab.invariants.model import InvariantResult
from support.register_states import a_state

LAB: Any = SimpleNamespace(home=SimpleNamespace(root="folder-of-a-lab"))
AT = datetime(2026, 11, 23, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize("state", [None, a_state(epoch=1), a_state(epoch=999)])
def test_a_lab_without_a_disaster_is_measured(state: RegisterState | None) -> None:
    switch.refuse_after_disaster(LAB, state)


@pytest.mark.parametrize("epoch", [1000, 1003])
def test_a_lab_in_which_a_disaster_took_records_is_refused_with_what_to_do(epoch: int) -> None:
    with pytest.raises(LabError, match=rf"folder-of-a-lab is at epoch {epoch}, .*: name another --home"):
        switch.refuse_after_disaster(LAB, a_state(epoch=epoch))


def test_what_broke_an_invariant_is_shown_and_kept() -> None:
    broken = InvariantResult("I2", "violated", "no record is lost: 1 is [not there]", ("orders.a-0:7",))
    step = SimpleNamespace(step="verify", seconds=0.3, finished_at=AT)
    done = switch.MeasuredSwitch("east", "west", AT, (step,))  # type: ignore[arg-type]
    verdict: Any = SimpleNamespace(switches=(), findings=(broken,), violated=(broken,), unknown=(), held=False)
    report = switch.as_json([done], verdict, None)
    assert report["violated"] == [
        {"invariant": "I2", "sentence": broken.sentence, "examples": ["orders.a-0:7"]},
    ]
    console = Console(record=True, width=120)
    switch._show(report, console)
    shown = console.export_text()
    assert report["ratio"] is None
    for words in ("I2 violated no record is lost: 1 is [not there]", "  orders.a-0:7", "not every invariant held"):
        assert words in shown


def test_a_projects_part_of_an_outage_is_from_the_first_deny_to_the_route() -> None:
    def step(name: str, began: float, ended: float) -> Any:
        return SimpleNamespace(
            step=name,
            seconds=ended - began,
            started_at=AT + timedelta(seconds=began),
            finished_at=AT + timedelta(seconds=ended),
        )

    steps = (step("claim", 0, 1), step("fence_source", 1, 1.5), step("flip_route", 1.9, 2), step("verify", 2, 9))
    assert switch.MeasuredSwitch("east", "west", AT, steps).fence_to_route_seconds == 1.0
    assert switch.MeasuredSwitch("east", "west", AT, steps[:2]).fence_to_route_seconds is None


def test_the_ratios_are_those_of_medians_and_say_which() -> None:
    outages, ends = (1.0, 9.0, 2.0), (3, 30, 4)
    switches = [
        switch.MeasuredSwitch(
            "east",
            "west",
            AT,
            (SimpleNamespace(step="verify", seconds=0.3, finished_at=AT + timedelta(seconds=end)),),  # type: ignore[arg-type]
        )
        for end in ends
    ]
    verdict: Any = SimpleNamespace(
        switches=[SimpleNamespace(write_outage_seconds=each) for each in outages],
        findings=(),
        violated=(),
        unknown=(),
        held=True,
    )
    demo = SwitchTimes(10, Spread(3.0, 1.0, 50.0), Spread(6.0, 5.0, 70.0))
    report = switch.as_json(switches, verdict, demo)
    assert (report["ratio"], report["ratio_approved_to_verified"]) == (1.5, 1.5)
    console = Console(record=True, width=200)
    switch._show(report, console)
    assert "write outage: the median of 10 switches of the demo (3 s) is 1.5 times the median of 3 here (2 s)" in (
        console.export_text()
    )


def test_a_demo_without_times_of_planned_failovers_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    report = tmp_path / "demo.json"
    report.write_text('{"write_outage_seconds": 2.0}')
    options: Any = SimpleNamespace(demo=report)
    with pytest.raises(LabError, match=r"demo\.json has no times of planned failovers .*: make it again with"):
        switch.run(options, Console())
    with pytest.raises(LabError, match=r"none\.json cannot be read: "):
        switch.run(SimpleNamespace(demo=tmp_path / "none.json"), Console())  # type: ignore[arg-type]
