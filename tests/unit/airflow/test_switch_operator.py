"""How the task of a switch ends, and what its log shows."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowSkipException, AirflowTaskTimeout

from kafka_dr.outcomes import Check
from kafka_dr.register import Verb
from kafka_dr.runs.record import StepOutcome, StepRecord
from kafka_dr.runs.request import StepName
from kafka_dr.verbs import roll_back, switch
from kafka_dr.verbs.switch import SwitchStopped
from kafka_dr.verbs.switch_rules import NextMove, RunProgress
from kafka_dr_airflow.operators.plain_failure import NeverAgain
from kafka_dr_airflow.operators.roll_back import RollBackOperator
from kafka_dr_airflow.operators.switch import LogWatch, SwitchOperator

AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
CONTEXT = {"params": {"protection_group": "orders"}, "run_id": "r1"}


def a_record(step: str, outcome: StepOutcome = "done", **facts: Any) -> StepRecord:
    proofs = (Check("writes_refused", "ok", "every leader refuses"),)
    return StepRecord(
        "orders", "r1", step, 3, outcome, AT, AT, 0.25, "as it was", proofs=proofs, facts=facts, evidence="e"
    )


@pytest.fixture(autouse=True)
def _no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_dr_airflow.task_clients.open_clients", nullcontext)


def is_final(operator: SwitchOperator) -> bool:
    policy: object = operator.retry_policy
    return isinstance(policy, NeverAgain)


def ended(monkeypatch: pytest.MonkeyPatch, move: NextMove) -> SwitchOperator:
    """Return the operator after a switch that stopped."""

    def stopped(*_: object) -> None:
        raise SwitchStopped(StepName.DRAIN, move, "drain failed: no record was copied")

    monkeypatch.setattr(switch, "switch", stopped)
    operator = SwitchOperator(numbers=(3, 9))
    with pytest.raises(SystemExit, match=r"^drain failed: no record was copied$"):
        operator.execute(CONTEXT)
    return operator


@pytest.mark.parametrize("move", [NextMove.ROLL_BACK, NextMove.STOP])
def test_a_switch_that_has_to_be_undone_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, move: NextMove) -> None:
    assert is_final(ended(monkeypatch, move))


def test_a_switch_that_can_only_go_forward_is_tried_again_by_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = ended(monkeypatch, NextMove.LATER)
    assert not is_final(operator)
    assert operator.retries == 3


@pytest.mark.parametrize(
    ("verb", "found", "final"),
    [
        ("planned_failover", RunProgress.SWITCHING, True),
        ("planned_failover", RunProgress.LOST, True),
        ("planned_failover", RunProgress.HANDED_OVER, False),
        ("planned_failover", RunProgress.UNKNOWN, False),
        ("unplanned_failover", RunProgress.SWITCHING, False),
    ],
)
def test_the_time_limit_of_a_switch_is_final_where_another_try_would_only_find_what_the_register_says(
    monkeypatch: pytest.MonkeyPatch, verb: Verb, found: RunProgress, final: bool
) -> None:
    def hangs(*_: object) -> None:
        raise AirflowTaskTimeout("Timeout")

    monkeypatch.setattr(switch, "switch", hangs)
    monkeypatch.setattr(switch, "where_is", lambda *_: found)
    operator = SwitchOperator(numbers=(3, 9), verb=verb)
    with pytest.raises(SystemExit, match=r"^switch was ended after 15 min, .*: it is") as said:
        operator.execute(CONTEXT)
    assert is_final(operator) is final
    assert ("roll_back undoes" in str(said.value)) is final


def test_the_log_shows_each_step_as_a_group_and_a_failure_unfolded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watch = LogWatch(logging.getLogger("task"))
    watch.begins(StepName.CLAIM)
    watch.ended(a_record("claim"))
    watch.ended(a_record("drain", "failed"))
    watch.says("drain is tried again")
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("INFO", "claim begins"),
        ("INFO", "::group::claim: done in 0.25 s"),
        ("INFO", "claim: done in 0.25 s. as it was"),
        ("INFO", "  proof writes_refused: ok. every leader refuses"),
        ("INFO", "  evidence: e"),
        ("INFO", "::endgroup::"),
        ("ERROR", "drain: failed in 0.25 s. as it was"),
        ("INFO", "  proof writes_refused: ok. every leader refuses"),
        ("INFO", "  evidence: e"),
        ("WARNING", "drain is tried again"),
    ]


def test_what_xcom_keeps_of_a_switch_is_its_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "switch", lambda *_: (a_record("claim"), a_record("flip_route", "unproven")))
    assert SwitchOperator(numbers=(3, 9)).execute(CONTEXT)["outcome"] == "unproven"


@pytest.mark.parametrize(
    ("found", "facts", "ends"),
    [
        (RunProgress.HANDED_OVER, None, AirflowSkipException),
        (RunProgress.FREE, {}, AirflowSkipException),
        (RunProgress.SWITCHING, {"epoch": 3}, None),
        (RunProgress.UNKNOWN, {"epoch": 3}, None),
    ],
)
def test_a_roll_back_is_skipped_where_nothing_is_held_or_the_hand_over_is_passed(
    monkeypatch: pytest.MonkeyPatch,
    found: RunProgress,
    facts: dict[str, Any] | None,
    ends: type[AirflowException] | None,
) -> None:
    asked: list[object] = []

    def undone(*_: object) -> StepRecord:
        asked.append("undo")
        return a_record("roll_back", **(facts or {}))

    monkeypatch.setattr(switch, "where_is", lambda *_: found)
    monkeypatch.setattr(roll_back, "roll_back", undone)
    operator = RollBackOperator()
    if ends is None:
        assert operator.execute(CONTEXT)["outcome"] == "done"
    else:
        with pytest.raises(ends):
            operator.execute(CONTEXT)
    assert bool(asked) is (facts is not None)
