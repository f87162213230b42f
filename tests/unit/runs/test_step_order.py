from __future__ import annotations

from itertools import product

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import PLANNED_FAILOVER, StepName
from kafka_dr.runs.step_order import TurnVerdict, turn_of
from support.register_states import a_state
from support.sentences import assert_sentence

BEFORE_CLAIM = [StepName.PREFLIGHT, StepName.APPROVAL, StepName.CLAIM]
BEFORE_HAND_OVER = [StepName.FENCE_SOURCE, StepName.DRAIN, StepName.STOP_FLOW, StepName.CUT_OVER_GROUPS]
AFTER_HAND_OVER = [StepName.FLIP_ROUTE, StepName.VERIFY, StepName.START_REVERSE_FLOW]
OPEN, REPORT = StepName.OPEN_TARGET, StepName.REPORT
STEPS = [step.name for step in PLANNED_FAILOVER]

#: What each step of a run hears when the record is the run's own.
OWN: dict[Phase, dict[TurnVerdict, list[StepName]]] = {
    Phase.SWITCHING: {
        "passed": [StepName.PREFLIGHT, StepName.APPROVAL],
        "its_turn": [StepName.CLAIM, *BEFORE_HAND_OVER, OPEN],
        "refused": [*AFTER_HAND_OVER, REPORT],
    },
    Phase.HANDED_OVER: {
        "passed": [*BEFORE_CLAIM, *BEFORE_HAND_OVER], "its_turn": [OPEN, *AFTER_HAND_OVER], "refused": [REPORT],
    },
    Phase.STABLE: {
        "passed": [*BEFORE_CLAIM, *BEFORE_HAND_OVER, OPEN, StepName.FLIP_ROUTE, StepName.VERIFY],
        "its_turn": [StepName.START_REVERSE_FLOW, REPORT],
    },
    Phase.UNFENCED: {"passed": BEFORE_CLAIM, "refused": [*BEFORE_HAND_OVER, OPEN, *AFTER_HAND_OVER, REPORT]},
    Phase.DIVERGED: {"passed": BEFORE_CLAIM, "refused": [*BEFORE_HAND_OVER, OPEN, *AFTER_HAND_OVER, REPORT]},
}  # fmt: skip
#: Phases of other verbs: nothing of this one is ever their turn.
OWN |= dict.fromkeys((Phase.ADOPTING, Phase.RELEASING, Phase.RELEASED), OWN[Phase.UNFENCED])


@pytest.mark.parametrize(("step", "phase"), list(product(STEPS, Phase)))
def test_with_a_record_of_its_own_run_each_step_knows_whether_it_may_run(step: StepName, phase: Phase) -> None:
    found = turn_of(step, "run-1", a_state(phase=phase, run="run-1", verb="planned_failover", epoch=4))
    assert step in OWN[phase].get(found.verdict, []), found


@pytest.mark.parametrize(("step", "phase"), list(product(STEPS, Phase)))
def test_in_a_record_of_another_run_only_a_stable_group_may_be_taken(step: StepName, phase: Phase) -> None:
    found = turn_of(step, "run-1", a_state(phase=phase, run="run-2", verb="planned_failover", epoch=4))
    assert found.verdict == ("its_turn" if step in BEFORE_CLAIM and phase is Phase.STABLE else "refused")
    assert "epoch 4" in found.detail
    assert found.verdict == "its_turn" or "run run-2" in found.detail


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_was_rolled_back_may_do_nothing_any_more(step: StepName) -> None:
    found = turn_of(step, "run-1", a_state(run="run-1", verb="roll_back", epoch=5))
    assert found.verdict == "refused"
    assert_sentence(found.detail)


@pytest.mark.parametrize("step", BEFORE_CLAIM)
def test_the_roll_back_of_one_run_does_not_hinder_another(step: StepName) -> None:
    assert turn_of(step, "run-2", a_state(run="run-1", verb="roll_back", epoch=5)).verdict == "its_turn"


@pytest.mark.parametrize("step", STEPS)
def test_a_group_without_a_record_has_to_be_adopted_first(step: StepName) -> None:
    found = turn_of(step, "run-1", None)
    assert found.verdict == "refused"
    assert_sentence(found.detail)


@pytest.mark.parametrize("step", BEFORE_CLAIM)
@pytest.mark.parametrize(
    ("phase", "advice"),
    [
        (Phase.SWITCHING, "finish or abandon it with dr_resume"),
        (Phase.HANDED_OVER, "finish or abandon it with dr_resume"),
        (Phase.UNFENCED, "run a failback first"),
        (Phase.DIVERGED, "run a failback first"),
    ],
)
def test_a_run_that_may_not_take_a_group_hears_what_to_do(step: StepName, phase: Phase, advice: str) -> None:
    assert turn_of(step, "run-1", a_state(phase=phase, run="run-2", verb="planned_failover")).detail.endswith(advice)
