"""Which steps have no check or no proof of their own. A misspelled name would drop one without a sound."""

from __future__ import annotations

from kafka_dr.register import Verb
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.table import VERB_PARTS

#: Of these the register alone decides whether they may run.
WITHOUT_CHECK: dict[Verb, set[StepName]] = {
    "planned_failover": {
        StepName.DRAIN,
        StepName.STOP_FLOW,
        StepName.VERIFY,
        StepName.START_REVERSE_FLOW,
        StepName.REPORT,
    },
    "unplanned_failover": {StepName.VERIFY, StepName.SETTLE, StepName.REPORT},
    "failback": {StepName.REVERSE_FLOW, StepName.CATCH_UP, StepName.REPORT},
    "take_over": {
        StepName.STOP_EXISTING,
        StepName.VERIFY_TAIL,
        StepName.START_FLOW,
        StepName.SETTLE,
        StepName.REPORT,
    },
    "un_adopt": {StepName.STOP_FLOW, StepName.HAND_BACK, StepName.SETTLE, StepName.REPORT},
}
#: These only look, and change nothing.
WITHOUT_PROOF: dict[Verb, set[StepName]] = {
    "planned_failover": {StepName.PREFLIGHT},
    "unplanned_failover": {StepName.GATHER_EVIDENCE},
    "failback": {StepName.PREFLIGHT},
    "take_over": {StepName.PREFLIGHT},
    "un_adopt": {StepName.PREFLIGHT},
}


def without(name: str) -> dict[Verb, set[StepName]]:
    return {
        verb: {step for step, module in parts.steps.items() if not hasattr(module, name)}
        for verb, parts in VERB_PARTS.items()
    }


def test_the_steps_without_a_check_of_their_own_are_these() -> None:
    assert without("check") == WITHOUT_CHECK


def test_only_steps_that_change_nothing_have_no_proof() -> None:
    assert without("prove") == WITHOUT_PROOF
