"""A group with several standbys is ready if a failover to each could begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.readiness.model import ReadinessCheck, ReadyVerb, VerbReadiness
from kafka_dr.readiness_checks import verbs
from kafka_dr.register import transitions
from support.register_states import AT

THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


@pytest.mark.parametrize("verb", ["planned_failover", "unplanned_failover"])
def test_a_failover_is_asked_for_each_standby(verb: ReadyVerb, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: dict[str, Any] = {"west": "ok", "north": "failed"}

    def to(run: Any) -> VerbReadiness:
        assert run.request.target is not None
        check = ReadinessCheck("flow_moves", outcomes[run.request.target], "as it was seen")
        return VerbReadiness(verb, (check,), (f"{run.request.protection_group} would stop",))

    monkeypatch.setattr(verbs, "Run", lambda request, _: SimpleNamespace(request=request, register_state=THREE))
    monkeypatch.setattr(verbs, f"_{verb.removesuffix('_failover')}", to)
    found = verbs.ASK[verb]("orders", cast("Any", None))
    assert found.verb == verb
    assert [(each.outcome, each.detail) for each in found.checks] == [
        ("failed", "to north: as it was seen"),
        ("ok", "to west: as it was seen"),
    ]
    assert found.answer == "ready_with", "it can be moved to the other one"
    assert {name: found.of_standby(name).answer for name in outcomes} == {"west": "ready", "north": "not_ready"}
    assert found.expected == ("to north: orders would stop", "to west: orders would stop")
