"""May this step run now? The register's record alone decides, so that nothing else has to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kafka_dr.register import Phase, RegisterState, Verb
from kafka_dr.register.transitions import way_out
from kafka_dr.runs.request import VERBS, StepName, definition

#: ``its_turn``: it is this step's turn. ``passed``: the run is further already. ``refused``: the run may not.
TurnVerdict = Literal["its_turn", "passed", "refused"]

#: How far a run is, by the phase of the group that it holds.
_ORDER = {
    Phase.ADOPTING: 0,
    Phase.RELEASING: 0,
    Phase.SWITCHING: 0,
    Phase.HANDED_OVER: 1,
    Phase.UNFENCED: 2,
    Phase.DIVERGED: 2,
    Phase.STABLE: 3,
    Phase.RELEASED: 3,
}


@dataclass(frozen=True, slots=True)
class StepTurn:
    """Whether a step may run, and the sentence that says why."""

    verdict: TurnVerdict
    detail: str


def turn_of(step: StepName, run: str, state: RegisterState | None, verb: Verb = "planned_failover") -> StepTurn:
    """Decide whether it is a step's turn.

    :param run: the run that asks
    :param state: the highest record, ``None`` where the group is not adopted
    :param verb: which procedure the run follows
    """
    if state is None:
        return _without_record(step, verb)
    if state.run == run and state.verb == "roll_back":
        return StepTurn("refused", f"run {run} was rolled back (epoch {state.epoch}): trigger a new run")
    phases = definition(step, verb).phases
    if not phases:
        return _before_claim(step, run, state, verb)
    if state.run != run:
        return StepTurn("refused", f"the group belongs to {_standing(state)}: run {run} may not change it")
    # What else is the matter with the group is none of the run's concern.
    phase = state.run_phase
    if phase in phases:
        return StepTurn("its_turn", f"the group is {phase} by this run (epoch {state.epoch})")
    if phase in VERBS[verb].phases and _ORDER[phase] > _ORDER[phases[-1]]:
        return StepTurn("passed", f"this run is past {step}: the group is {state.phase}, active on {state.active}")
    return StepTurn("refused", f"the group is {state.phase}: the steps before {step} have to be done first")


def _without_record(step: StepName, verb: Verb) -> StepTurn:
    """Only a take over begins with a group of which no register has a record."""
    if VERBS[verb].from_nothing and not definition(step, verb).phases:
        return StepTurn("its_turn", "no register has a record of this group")
    return StepTurn("refused", "no register has a record of this group: adopt it with dr_adopt first")


def _before_claim(step: StepName, run: str, state: RegisterState, verb: Verb) -> StepTurn:
    if state.run == run:
        if step is StepName.CLAIM and state.run_phase is VERBS[verb].claimed:
            # The process that claimed it may have died before it wrote the other register.
            return StepTurn("its_turn", f"this run has claimed the group already (epoch {state.epoch})")
        held = f"this run has claimed the group already: it is {state.phase} (epoch {state.epoch})"
        return StepTurn("passed", held)
    if VERBS[verb].may_take(state):
        return StepTurn("its_turn", _free(state))
    return StepTurn("refused", f"the group belongs to {_standing(state)}: {_hint(state, verb)}")


def _hint(state: RegisterState, verb: Verb) -> str:
    if verb == "take_over" and state.is_adopted:
        return "it is adopted already; python -m kafka_dr un-adopt releases it"
    if verb != "failback":
        return way_out(state)
    if state.is_failing_back:
        return "finish or abandon that run with dr_resume"
    return "a failback begins when the old cluster answers again and dr_health has fenced it"


def _free(state: RegisterState) -> str:
    if state.phase is Phase.STABLE:
        return f"the group is stable on {state.active} (epoch {state.epoch})"
    return f"the group belongs to {_standing(state)}, which this verb may take over"


def _standing(state: RegisterState) -> str:
    return f"run {state.run} ({state.phase}, epoch {state.epoch}, {state.active} active)"
