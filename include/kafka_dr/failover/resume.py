"""End a run that died, from the register and the journal alone: nothing that Airflow remembers is needed."""

from __future__ import annotations

from kafka_dr.errors import Refused
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.record import StepRecord
from kafka_dr.failover.request import PLANNED_FAILOVER, RESUME_NUMBER, ResumeRequest, RunRequest, StepName
from kafka_dr.failover.roll_back import roll_back
from kafka_dr.failover.run import Run
from kafka_dr.failover.runner import run_step
from kafka_dr.failover.world import World
from kafka_dr.register import Phase

_ASKED_BEFORE = (StepName.PREFLIGHT, StepName.APPROVAL)


def resume(request: ResumeRequest, world: World) -> StepRecord:
    """Finish or abandon the run that holds a group.

    Finishing runs every step from the claim on again: what is done is proved and passed over. Abandoning is the roll
    back, which is refused behind the point of no return.

    :raises Refused: no run holds the group, or another one than was named
    :raises StepFailed: a step did not go through
    """
    held = _held(request, world)
    if request.decision == "abandon":
        return roll_back(held, world)
    attempt = Attempt.start(held, world, "resume", RESUME_NUMBER)
    records = [run_step(step.name, held, world) for step in PLANNED_FAILOVER if step.name not in _ASKED_BEFORE]
    attempt.facts = {
        "reason": request.reason,
        "steps": [{"name": r.step, "outcome": r.outcome, "seconds": r.seconds} for r in records],
    }
    return attempt.end(world, "done", f"run {held.run} is finished")


def _held(request: ResumeRequest, world: World) -> RunRequest:
    state = Run(RunRequest(request.protection_group, request.run or ""), world).standing
    if state is None or (state.phase is Phase.STABLE and (request.run is None or request.run != state.run)):
        standing = "not adopted" if state is None else f"stable on {state.active} (epoch {state.epoch})"
        raise Refused(f"{request.protection_group} is {standing}: no run holds it, there is nothing to resume")
    if request.run is not None and request.run != state.run:
        raise Refused(f"{request.protection_group} belongs to run {state.run}, not to {request.run}")
    verb = "planned_failover" if state.verb == "roll_back" else state.verb
    return RunRequest(request.protection_group, state.run, reason=request.reason, verb=verb)
