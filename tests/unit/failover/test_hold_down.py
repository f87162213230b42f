"""A second move within the hold-down has to be acknowledged, whatever was claimed or rolled back in between."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.failover.unplanned.checks import hold_down
from kafka_dr.register import Phase, RegisterState
from support.register_states import AT, a_state

LIMIT = 3600.0
MOVED = {"run-1": {"claim": {}, "opened": {"at": AT.isoformat()}}}


def held(
    state: RegisterState | None,
    history: dict[str, Any] | None = None,
    *,
    now: datetime = AT + timedelta(minutes=5),
    acknowledged: bool = False,
) -> str:
    run: Any = SimpleNamespace(
        register_state=state,
        history=history or {},
        group=SimpleNamespace(name="orders", timing=SimpleNamespace(hold_down_seconds=LIMIT)),
        clock=SimpleNamespace(now=lambda: now),
        request=SimpleNamespace(acknowledged=acknowledged),
    )
    return hold_down(run).outcome


def test_a_group_that_never_moved_may_move() -> None:
    assert held(a_state(verb="adopt")) == "ok"


def test_a_group_that_moved_a_moment_ago_may_move_only_if_that_is_acknowledged() -> None:
    state = a_state(verb="planned_failover", run="run-1", epoch=2)
    assert held(state, MOVED) == "failed"
    assert held(state) == "failed"
    assert held(state, MOVED, acknowledged=True) == "overridden"
    assert held(state, MOVED, now=AT + timedelta(seconds=LIMIT)) == "ok"


@pytest.mark.parametrize(
    "state",
    [
        # An unplanned run that was acknowledged, and rolled back.
        a_state(verb="roll_back", run="run-2", epoch=1001),
        # Another run that died while switching, which is going to be taken over.
        a_state(verb="planned_failover", run="run-2", epoch=3, phase=Phase.SWITCHING),
    ],
    ids=["rolled back", "taken over"],
)
def test_a_later_claim_does_not_hide_the_last_move(state: RegisterState) -> None:
    history = {**MOVED, "run-2": {"claim": {}}}
    assert held(state, history) == "failed"
    assert held(state, history, now=AT + timedelta(seconds=LIMIT)) == "ok"


def test_the_newest_move_counts() -> None:
    earlier = {"run-0": {"opened": {"at": (AT - timedelta(days=3)).isoformat()}}}
    assert held(a_state(verb="roll_back", run="run-2"), {**MOVED, **earlier}) == "failed"


def test_a_failback_that_has_not_ended_is_no_move() -> None:
    state = a_state(verb="failback", run="repair", epoch=3, phase=Phase.DIVERGED)
    assert held(state) == "ok"
    assert held(state, MOVED) == "failed"
    assert held(a_state(verb="failback", run="repair", epoch=3)) == "failed"
