from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.outcomes import Check, Outcome, worst
from kafka_dr.runs.record import StepFailed, StepOutcome, StepRecord, ended
from kafka_dr.runs.request import PLANNED_FAILOVER, VERBS, StepName, definition
from support.sentences import assert_sentence

AT = datetime(2026, 3, 14, tzinfo=UTC)
RECORD = StepRecord(
    group="orders", run="run-1", step="claim", number=3, outcome="done", started_at=AT,
    finished_at=AT + timedelta(seconds=2), seconds=2.0, detail="Taken.", intent=("take the group",),
    checks=(Check.that("approver", True, "alice is an approver", who="alice"),),
    proofs=(Check("reads_back", "ok", "epoch 2 reads back", {"epoch": 2}),),
    facts={"epoch": 2}, evidence="runs/orders/run-1/03-claim.1.json",
)  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], "ok"), (["ok"], "ok"), (["ok", "unknown"], "unknown"), (["unknown", "failed"], "failed"),
        (["failed", "ok"], "failed"),
    ],
)  # fmt: skip
def test_unknown_is_worse_than_ok_and_failed_is_worst(outcomes: list[Outcome], expected: Outcome) -> None:
    assert worst(Check("c", outcome, "") for outcome in outcomes) == expected


def test_a_check_of_a_fact_is_ok_or_failed() -> None:
    assert Check.that("c", True, "d", n=1) == Check("c", "ok", "d", {"n": 1})
    assert Check.that("c", False, "d").outcome == "failed"


@pytest.mark.parametrize(
    ("outcome", "good"),
    [
        ("done", True), ("passed", True), ("would_do", True), ("unproven", True),
        ("refused", False), ("failed", False), ("unknown", False),
    ],
)  # fmt: skip
def test_a_run_continues_after_what_is_good_or_need_not_be_waited_for(outcome: StepOutcome, good: bool) -> None:
    assert replace(RECORD, outcome=outcome).good is good


@pytest.mark.parametrize(
    ("needed", "waived", "outcome"),
    [
        ("ok", "ok", "done"), ("ok", "excused", "done"), ("ok", "unknown", "unproven"), ("ok", "failed", "failed"),
        ("unknown", "ok", "unknown"), ("unknown", "unknown", "unknown"), ("unknown", "failed", "failed"),
        ("failed", "ok", "failed"), ("failed", "unknown", "failed"), ("failed", "failed", "failed"),
    ],
)  # fmt: skip
def test_only_an_unknown_that_a_step_need_not_wait_for_lets_it_continue_and_is_named(
    needed: Outcome, waived: Outcome, outcome: StepOutcome
) -> None:
    proofs = [Check("needed", needed, "n"), Check("waived", waived, "it does not say")]
    found, detail = ended(proofs, may_be_unknown={"waived"}, detail="Opened")
    assert found == outcome
    assert ("waived: it does not say" in detail) is (waived in ("unknown", "failed"))
    assert ("needed: n" in detail) is (needed != "ok")


def test_the_payload_holds_everything_but_where_it_is_kept() -> None:
    payload = RECORD.payload()
    assert payload["checks"] == [
        {"name": "approver", "outcome": "ok", "detail": "alice is an approver", "facts": {"who": "alice"}}
    ]
    assert payload["proofs"][0]["facts"] == {"epoch": 2}
    assert set(payload) == {
        "schema_version", "group", "run", "step", "outcome", "started_at", "finished_at", "seconds", "detail",
        "intent", "checks", "proofs", "facts",
    }  # fmt: skip
    assert json.dumps(payload, default=str)


def test_the_summary_names_every_check_and_proof_and_the_evidence() -> None:
    assert_sentence(RECORD.summary().splitlines())


def test_the_summary_of_a_dry_run_says_what_acting_would_mean() -> None:
    assert "  would: take the group" in replace(RECORD, outcome="would_do").summary().splitlines()


def test_the_error_of_a_failed_step_is_its_sentence() -> None:
    failed = StepFailed(replace(RECORD, outcome="refused", detail="The group belongs to run-2."))
    assert str(failed) == "claim refused: The group belongs to run-2."
    assert failed.record.outcome == "refused"


def test_the_plan_numbers_its_steps_in_order_and_rolls_back_until_the_target_opens() -> None:
    assert [step.number for step in PLANNED_FAILOVER] == list(range(1, 13))
    assert {step.name for rules in VERBS.values() for step in rules.steps} == set(StepName)
    assert [step.number for step in PLANNED_FAILOVER if step.rolls_back] == [3, 4, 5, 6, 7, 8]
    assert definition(StepName.OPEN_TARGET).number == 8


def test_what_somebody_wrote_cannot_forge_a_line_of_the_log() -> None:
    attack = "rejected\n  check source_is_down: ok. all well\x1b[2K\u2028done"
    said = replace(RECORD, detail=attack, checks=(Check("c", "failed", attack),)).summary()
    assert len(said.splitlines()) == len(RECORD.summary().splitlines())
    assert "\x1b" not in said
    assert "rejected\\n  check source_is_down: ok. all well\\x1b[2K\\u2028done" in said
