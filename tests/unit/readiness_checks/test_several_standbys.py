"""A group with several standbys is ready if a planned failover to each could begin; no other failover can."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.readiness_checks import verbs
from kafka_dr.register import transitions
from kafka_dr.register.transitions import SeveralStandbys
from support.register_states import AT

THREE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)


def test_a_planned_failover_is_asked_for_each_standby(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: dict[str, Any] = {"west": "ok", "north": "failed"}

    def to(run: Any) -> VerbReadiness:
        assert run.request.target is not None
        check = ReadinessCheck("flow_moves", outcomes[run.request.target], "as it was seen")
        return VerbReadiness("planned_failover", (check,), (f"{run.request.protection_group} would stop",))

    monkeypatch.setattr(verbs, "Run", lambda request, _: SimpleNamespace(request=request, register_state=THREE))
    monkeypatch.setattr(verbs, "_planned", to)
    found = verbs.planned("orders", cast("Any", None))
    assert [(each.outcome, each.detail) for each in found.checks] == [
        ("failed", "to north: as it was seen"),
        ("ok", "to west: as it was seen"),
    ]
    assert found.answer == "ready_with", "it can be moved to the other one"
    assert {name: found.of_standby(name).answer for name in outcomes} == {"west": "ready", "north": "not_ready"}
    assert found.expected == ("to north: orders would stop", "to west: orders would stop")


@pytest.mark.parametrize(("error", "outcome"), [(SeveralStandbys("it has two"), "failed"), (TryAgain("no"), "unknown")])
def test_what_is_refused_for_several_standbys_is_not_unknown(
    error: Refused | TryAgain, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> VerbReadiness:
        raise error

    monkeypatch.setattr(verbs, "ASK", {"unplanned_failover": refuses})
    monkeypatch.setattr(verbs, "Run", lambda *_: None)
    monkeypatch.setattr(verbs, "_unusable_registers", lambda _: ())
    (check,) = verbs.ask("unplanned_failover", "orders", cast("Any", None)).checks
    assert (check.outcome, check.detail) == (outcome, str(error))
