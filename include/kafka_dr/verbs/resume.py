"""End a run that died, from the register and the journal alone: nothing from Airflow is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kafka_dr.approvals.claim import GROUNDS
from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, Verb, arbiter
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RESUME_NUMBER, STAY, VERBS, ResumeRequest, RunRequest, chosen_from_json
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import seal_or_later
from kafka_dr.runs.signs_of_life import alive
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.table import VERB_PARTS


def resume(
    request: ResumeRequest, clients: Clients, *, seen: Callable[[StepRecord], object] = lambda _: None
) -> StepRecord:
    """Finish or abandon the run that holds a group; also finish a run that died after it settled the group.

    To finish, every step from the claim on runs again; a step that is done is only proved. To abandon is to roll back,
    which is refused after the point of no return. In any case the evidence of the run that died says that it was
    resumed, and why.

    :param seen: is given each step that has ended well
    :raises Refused: no run holds the group, or another one than the named one; or a process that may still execute it
        showed life a short while ago, and nobody confirmed that it is dead
    :raises StepFailed: a step was refused or failed, or its outcome is unknown
    """
    held = held_run(request, clients)
    if not request.confirmed and (said := shows_life(held, clients)):
        raise Refused(
            f"{said}. Wait until then to {request.decision} it; if you made sure that no process executes it any more, "
            "confirm that: --confirmed, or the box in the form of dr_resume"
        )
    attempt = Attempt.start(held.protection_group, held.run, clients, "resume", RESUME_NUMBER, goes_forward=True)
    steps: list[StepRecord] = []
    try:
        for step in _steps(request, held):
            steps.append(step(clients))
            seen(steps[-1])
    except StepFailed as failure:
        _add_steps(attempt, request, [*steps, failure.record])
        with suppress(StepFailed):
            attempt.end(clients, failure.record.outcome, str(failure))
        raise
    _add_steps(attempt, request, steps)
    record = attempt.end(clients, "done", _ending(request, held, steps[-1]))
    seal_or_later(clients, held.protection_group, held.run)
    return record


def shows_life(held: RunRequest, clients: Clients) -> str:
    """Return a sentence about the process that may still execute a run; empty if none does."""
    state = Run(held, clients).record()
    facts = clients.register(arbiter(state)).facts(state.group, state.run)
    return alive(state, facts, now=clients.clock.now())


def _steps(request: ResumeRequest, held: RunRequest) -> Iterator[Callable[[Clients], StepRecord]]:
    if request.decision == "abandon":
        yield partial(VERB_PARTS[held.verb].abandon, held)
        return
    for step in VERBS[held.verb].from_claim:
        yield partial(run_step, step, held)


def _add_steps(attempt: Attempt, request: ResumeRequest, steps: Sequence[StepRecord]) -> None:
    """Put the proofs and outcomes of the steps into the attempt."""
    attempt.proofs = tuple(proof for step in steps for proof in step.proofs)
    done = [{"name": step.step, "outcome": step.outcome, "seconds": step.seconds} for step in steps]
    attempt.facts = {
        "resumed": {
            "decision": request.decision,
            "reason": request.reason,
            "requested_by": request.requester,
            "steps": done,
        }
    }


def _ending(request: ResumeRequest, held: RunRequest, last: StepRecord) -> str:
    if request.decision == "abandon":
        return f"run {held.run} is abandoned: {last.detail}"
    return f"run {held.run} is finished: {last.detail}, with {left_by(held)}"


def left_by(held: RunRequest) -> str:
    """Return what a run leaves when it is finished, as it follows "with"."""
    if held.leaves:
        return f"{held.target} out of {held.protection_group}"
    active = held.source if held.verb in STAY else held.target
    return VERB_PARTS[held.verb].leaves.format(active=active, group=held.protection_group)


def held_run(request: ResumeRequest, clients: Clients) -> RunRequest:
    """Return the run that holds a group, as it was asked for, as far as the register knows it.

    :raises Refused: no run holds the group, or another one than the named one
    """
    run = Run(RunRequest(request.protection_group, request.run or ""), clients)
    state = run.register_state
    if state is None or _is_over(run, state):
        state_words = "not adopted" if state is None else f"{state.phase} on {state.active} (epoch {state.epoch})"
        raise Refused(f"{request.protection_group} is {state_words}: no run holds it, so there is nothing to resume")
    if request.run is not None and request.run != state.run:
        raise Refused(
            f"run {state.run} holds {request.protection_group}, expected {request.run}: leave the parameter run empty, "
            f"or set it to {state.run}"
        )
    # The register that decides has them: the source of an unplanned failover may be dead.
    grounds = clients.register(arbiter(state)).facts(state.group, state.run).get(GROUNDS, {})
    verb = _verb_before(grounds) if state.verb == "roll_back" else state.verb
    before = state.phase is Phase.SWITCHING or state.verb == "roll_back" or verb in STAY
    source, target = (state.active, state.moved_with) if before else (state.moved_with, state.active)
    return RunRequest(
        request.protection_group,
        state.run,
        source=source,
        target=target,
        reason=request.reason,
        verb=verb,
        **chosen_from_json(grounds),
    )


def _is_over(run: Run, state: RegisterState) -> bool:
    """Return whether the newest run is complete: the group is settled, and its evidence is sealed."""
    if state.run_phase not in (Phase.STABLE, Phase.RELEASED) or run.request.run == state.run:
        return False
    return bool(run.request.run) or not run.is_unsealed(state)


def _verb_before(claim: Mapping[str, Any]) -> Verb:
    """Return the verb of a run that was rolled back, from the claim in its journal."""
    return next((verb for verb in VERBS if claim.get("verb") == verb), "planned_failover")
