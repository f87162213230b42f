"""The benchmark of the switch: what it refuses to judge, and what it says about an invariant that did not hold."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from kafka_dr.register import RegisterState
from lab.bench import switch
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
    for words in ("I2 violated no record is lost: 1 is [not there]", "  orders.a-0:7", "not every invariant held"):
        assert words in shown
