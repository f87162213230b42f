"""End a run that died, from the register and the journal alone: nothing that Airflow remembers is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from kafka_dr.errors import Refused
from kafka_dr.failback.abandon import abandon
from kafka_dr.failover.roll_back import roll_back
from kafka_dr.failover.runner import run_step
from kafka_dr.register import Phase, RegisterState, Verb
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RESUME_NUMBER, VERBS, ResumeRequest, RunRequest, StepName
from kafka_dr.runs.run import Run

_ASKED_BEFORE = (StepName.PREFLIGHT, StepName.GATHER_EVIDENCE, StepName.APPROVAL, StepName.SECOND_APPROVAL)


def resume(request: ResumeRequest, clients: Clients) -> StepRecord:
    """Finish or abandon the run that holds a group, or seal the evidence of one that settled it and got no further.

    Finishing runs every step from the claim on again: what is done is proved and passed over. Abandoning is the roll
    back, which is refused behind the point of no return. Whatever comes of it, the evidence of the run that died says
    that it was resumed, and why.

    :raises Refused: no run holds the group, or another one than was named
    :raises StepFailed: a step did not go through
    """
    held = _held(request, clients)
    attempt = Attempt.start(held.protection_group, held.run, clients, "resume", RESUME_NUMBER, goes_forward=True)
    steps: list[StepRecord] = []
    try:
        for step in _steps(request, held):
            steps.append(step(clients))
    except StepFailed as failure:
        _tell(attempt, request, [*steps, failure.record])
        with suppress(StepFailed):
            attempt.end(clients, failure.record.outcome, str(failure))
        raise
    _tell(attempt, request, steps)
    record = attempt.end(clients, "done", _ending(request, held, steps[-1]))
    clients.evidence.seal(held.protection_group, held.run)
    return record


def _steps(request: ResumeRequest, held: RunRequest) -> Iterator[Callable[[Clients], StepRecord]]:
    if request.decision == "abandon":
        yield partial(abandon if held.verb == "failback" else roll_back, held)
        return
    for step in VERBS[held.verb]:
        if step.name not in _ASKED_BEFORE:
            yield partial(run_step, step.name, held)


def _tell(attempt: Attempt, request: ResumeRequest, steps: Sequence[StepRecord]) -> None:
    """Put what the steps proved into the attempt, under a name that no fact of a step has."""
    attempt.proofs = tuple(proof for step in steps for proof in step.proofs)
    done = [{"name": step.step, "outcome": step.outcome, "seconds": step.seconds} for step in steps]
    attempt.facts = {"resumed": {"decision": request.decision, "reason": request.reason, "steps": done}}


def _ending(request: ResumeRequest, held: RunRequest, last: StepRecord) -> str:
    if request.decision == "abandon":
        return f"run {held.run} is abandoned: {last.detail}"
    active = held.source if held.verb == "failback" else held.target
    return f"run {held.run} is finished: {last.detail}, active on {active}"


def _held(request: ResumeRequest, clients: Clients) -> RunRequest:
    run = Run(RunRequest(request.protection_group, request.run or ""), clients)
    state = run.register_state
    if state is None or _is_over(run, state):
        standing = "not adopted" if state is None else f"stable on {state.active} (epoch {state.epoch})"
        raise Refused(f"{request.protection_group} is {standing}: no run holds it, there is nothing to resume")
    if request.run is not None and request.run != state.run:
        raise Refused(f"{request.protection_group} belongs to run {state.run}, not to {request.run}")
    verb = _verb_before(run, state) if state.verb == "roll_back" else state.verb
    before = state.phase is Phase.SWITCHING or state.verb in ("roll_back", "failback")
    source, target = (state.active, state.standby) if before else (state.standby, state.active)
    return RunRequest(
        request.protection_group, state.run, source=source, target=target, reason=request.reason, verb=verb
    )


def _is_over(run: Run, state: RegisterState) -> bool:
    """Return whether nothing of the newest run is left to be done: the group is settled, the evidence is sealed."""
    if state.phase is not Phase.STABLE or run.request.run == state.run:
        return False
    return bool(run.request.run) or not run.is_unsealed(state)


def _verb_before(run: Run, state: RegisterState) -> Verb:
    """Return what a run was that was rolled back: its claim is in the journal."""
    claim = run.history.get(state.run, {}).get("claim", {})
    known: tuple[Verb, ...] = ("unplanned_failover", "failback")
    return next((verb for verb in known if claim.get("verb") == verb), "planned_failover")
