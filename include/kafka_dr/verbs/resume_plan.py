"""What ending a run that died would do: read from the register, before anybody decides. Nothing is changed or kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kafka_dr.adoption.take_over import give_back
from kafka_dr.adoption.un_adopt import keep
from kafka_dr.fencing import plan
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import VERBS, ResumeRequest, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.runs.step_order import turn_of
from kafka_dr.verbs.resume import held_run, left_by, shows_life
from kafka_dr.verbs.table import VERB_PARTS

#: ``passed``: the run is further already. ``runs``: it runs now, and passes what it has done before it died. ``later``:
#: it runs when the steps before it are done.
ResumeTurn = Literal["passed", "runs", "later"]
_TURNS: dict[str, ResumeTurn] = {"passed": "passed", "its_turn": "runs", "refused": "later"}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a run that would be finished, or of its roll back.

    :param intent: what it does, in sentences; what is done already is not done again
    """

    step: str
    turn: ResumeTurn
    intent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """What a decision about the run that holds a group would do.

    :param possible: whether the register permits it
    :param sentence: what would come of it, or why it would be refused
    """

    group: str
    run: str
    verb: str
    decision: str
    possible: bool
    sentence: str
    steps: tuple[PlannedStep, ...] = ()


def plan_resume(request: ResumeRequest, clients: Clients) -> ResumePlan:
    """Return what finishing or abandoning the run that holds a group would do.

    :raises Refused: no run holds the group, or another one than the named one
    """
    held = held_run(request, clients)
    run = Run(held, clients)
    planned = _abandoned if request.decision == "abandon" else _finished
    found = planned(run, run.record(), held)
    if said := shows_life(held, clients):
        return replace(found, sentence=f"{found.sentence}. Now it would be refused unless confirmed: {said}")
    return found


def _finished(run: Run, state: RegisterState, held: RunRequest) -> ResumePlan:
    if state.verb == "roll_back":
        said = (
            f"run {held.run} was rolled back (epoch {state.epoch}) and cannot be finished: abandon it, which completes"
        )
        return ResumePlan(held.protection_group, held.run, held.verb, "finish", False, f"{said} the roll back")
    steps = tuple(_step(name, run, state) for name in VERBS[held.verb].from_claim)
    first = next((each.step for each in steps if each.turn != "passed"), "no step")
    said = f"run {held.run} would continue at {first} and end with {left_by(held)}"
    return ResumePlan(held.protection_group, held.run, held.verb, "finish", True, said, steps)


def _step(name: StepName, run: Run, state: RegisterState) -> PlannedStep:
    turn = _TURNS[turn_of(name, run.request.run, state, run.request.verb).verdict]
    step = VERB_PARTS[run.request.verb].steps[name]
    return PlannedStep(name.value, turn, () if turn == "passed" else tuple(step.intent(run)))


def _abandoned(run: Run, state: RegisterState, held: RunRequest) -> ResumePlan:
    group, verb = held.protection_group, held.verb
    if verb == "failback":
        said = f"the failback {held.run} would end: {group} stays diverged, and what it deleted stays deleted"
        stop = (f"stop {run.flow.name}", f"remove the right to delete topics on {run.target}")
        return ResumePlan(group, held.run, verb, "abandon", True, said, (PlannedStep("abandon", "runs", stop),))
    if verb == "take_over" and (state.phase is Phase.ADOPTING or state.verb == "roll_back"):
        said = f"run {held.run} would be given back: {group} is not adopted, and what copied it before copies it again"
        return ResumePlan(group, held.run, verb, "abandon", True, said, _back(give_back.intent(run, state)))
    if verb == "un_adopt":
        return _kept(run, state, held)
    if state.phase is not Phase.SWITCHING and state.verb != "roll_back":
        said = f"{group} is {state.phase} with {state.active} active: the point of no return is passed, only finish it"
        return ResumePlan(group, held.run, verb, "abandon", False, said)
    said = f"run {held.run} would be rolled back: {group} stable on {run.source} again"
    return ResumePlan(group, held.run, verb, "abandon", True, said, _back(_undo(run, state)))


def _kept(run: Run, state: RegisterState, held: RunRequest) -> ResumePlan:
    group = held.protection_group
    if why := keep.refusal(run):
        return ResumePlan(group, held.run, held.verb, "abandon", False, why)
    said = f"the release {held.run} would end: {group} stays adopted"
    return ResumePlan(group, held.run, held.verb, "abandon", True, said, _back(keep.intent(run, state)))


def _back(intent: Iterable[str]) -> tuple[PlannedStep, ...]:
    return (PlannedStep("roll_back", "runs", tuple(intent)),)


def _undo(run: Run, state: RegisterState) -> Iterator[str]:
    if state.verb != "roll_back":
        yield f"write to the register that {state.group} is stable on {run.source} (epoch {state.epoch + 1})"
    most = len(plan.standby(run.group.on(run.source)))
    yield f"lift on {run.source} the DENYs that this project added there, at most {most}"
    yield f"make sure that {run.target} refuses the applications' writes"
    yield f"resume the flow {run.source} → {run.target}"
