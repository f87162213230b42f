"""Where each step of an unplanned failover may run, by the register's record alone."""

from __future__ import annotations

from itertools import product

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import UNPLANNED_FAILOVER, StepName
from kafka_dr.runs.step_order import TurnVerdict, turn_of
from support.register_states import a_state

STEPS = [step.name for step in UNPLANNED_FAILOVER]
UP_TO_CLAIM, CLAIM = STEPS[:4], StepName.CLAIM
TO_HAND_OVER, OPEN = [StepName.FENCE, StepName.CUT_OVER_GROUPS], StepName.OPEN_TARGET
BEHIND = [StepName.FLIP_ROUTE, StepName.VERIFY]
REPORT = StepName.REPORT
ENDS = [StepName.SETTLE, REPORT]

#: What each step of a run hears when the record is the run's own.
OWN: dict[Phase, dict[TurnVerdict, list[StepName]]] = {
    Phase.SWITCHING: {
        "passed": UP_TO_CLAIM[:3], "its_turn": [CLAIM, *TO_HAND_OVER, OPEN], "refused": [*BEHIND, *ENDS],
    },
    Phase.HANDED_OVER: {
        "passed": [*UP_TO_CLAIM, *TO_HAND_OVER], "its_turn": [OPEN, *BEHIND, StepName.SETTLE], "refused": [REPORT],
    },
    Phase.UNFENCED: {"passed": [*UP_TO_CLAIM, *TO_HAND_OVER, OPEN, *BEHIND], "its_turn": ENDS},
    Phase.DIVERGED: {"passed": [*UP_TO_CLAIM, *TO_HAND_OVER, OPEN, *BEHIND], "its_turn": ENDS},
    Phase.STABLE: {"passed": [*UP_TO_CLAIM, *TO_HAND_OVER, OPEN, *BEHIND], "its_turn": ENDS},
}  # fmt: skip
#: Phases of other verbs: nothing of this one is ever their turn.
OWN |= {
    phase: {"passed": UP_TO_CLAIM, "refused": [*TO_HAND_OVER, OPEN, *BEHIND, *ENDS]}
    for phase in (Phase.ADOPTING, Phase.RELEASING, Phase.RELEASED)
}


@pytest.mark.parametrize(("step", "phase"), list(product(STEPS, Phase)))
def test_with_a_record_of_its_own_run_each_step_knows_whether_it_may_run(step: StepName, phase: Phase) -> None:
    state = a_state(phase=phase, run="run-1", verb="unplanned_failover", epoch=1000)
    found = turn_of(step, "run-1", state, "unplanned_failover")
    assert step in OWN[phase].get(found.verdict, []), found


@pytest.mark.parametrize(("step", "phase"), list(product(STEPS, Phase)))
def test_another_runs_group_is_taken_when_stable_or_from_a_run_that_died_while_switching(
    step: StepName, phase: Phase
) -> None:
    state = a_state(phase=phase, run="run-2", verb="planned_failover", epoch=4)
    found = turn_of(step, "run-1", state, "unplanned_failover")
    free = step in UP_TO_CLAIM and phase in (Phase.STABLE, Phase.SWITCHING)
    assert found.verdict == ("its_turn" if free else "refused")


def test_a_run_that_was_rolled_back_may_do_nothing_any_more() -> None:
    state = a_state(run="run-1", verb="roll_back", epoch=1001)
    assert {turn_of(step, "run-1", state, "unplanned_failover").verdict for step in STEPS} == {"refused"}
