"""A plan of configuration is about one standby: the one that is asked for, or the first one that differs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.checks import config_compare
from kafka_dr.register import RegisterState, transitions
from support.register_states import AT, a_state

THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


@pytest.mark.parametrize(
    ("state", "differing", "wanted", "planned"),
    [
        (THREE, {"west"}, None, "west"),
        (THREE, {"north", "west"}, None, "north"),
        (THREE, set(), None, "north"),
        (THREE, {"north"}, "west", "west"),
        (a_state(), {"west"}, None, "west"),
    ],
)
def test_the_first_that_differs_is_planned_unless_another_one_is_asked_for(
    state: RegisterState, differing: set[str], wanted: str | None, planned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def between(_: object, active: str, standby: str, *, epoch: int) -> Any:
        assert (active, epoch) == ("east", state.epoch)
        return SimpleNamespace(standby=standby, changes=["a change"] if standby in differing else [])

    monkeypatch.setattr(config_compare, "plan_between", between)
    assert config_compare.current_plan(cast("Any", None), state, wanted).standby == planned
