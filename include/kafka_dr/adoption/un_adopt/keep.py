"""Abandon a release before anything was handed back: the group stays adopted, and this project's flow runs again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.membership import stayed
from kafka_dr.register.transitions import kept
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepOutcome, StepRecord, shortfall
from kafka_dr.runs.register_guard import Unchanged
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.undoing import carry_out_undoing


def keep(request: RunRequest, clients: Clients) -> StepRecord:
    """Take a group away from the release that holds it, if nothing was handed back.

    :raises StepFailed: something was handed back, or a cluster did not answer
    """
    return carry_out_undoing(request, clients, _go, refusal="refused")


def intent(run: Run, state: RegisterState) -> Iterator[str]:
    """Say what abandoning means."""
    if state.verb != "roll_back":
        yield f"write to the register that {state.group} is stable on {state.active} again (epoch {state.epoch + 1})"
    if not (context := ReleaseContext(run)).leaving:
        yield from (f"resume {flow.name}" for flow in context.flows)


def refusal(run: Run) -> str:
    """Return why a release cannot be abandoned any more; empty if it can."""
    if (ReleaseContext(run).decided_end() or {}).get("as") != "handed_back":
        return ""
    return (
        f"run {run.request.run} has begun to hand {run.group.name} back, and the existing replication may have copied "
        "records: the run can only be finished"
    )


def _runs(run: Run, flow: Flow) -> Check:
    status = run.clients.replicator(flow).wait_running(run.group.timing.protect_wait_seconds)
    return Check.that("flow_runs", status.state == "running", f"{flow.name} is {status}")


def _go(run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    state = run.register_state
    if state is None or state.run != run.request.run:
        return "done", f"run {run.request.run} does not hold {run.group.name} in the register: there is nothing to undo"
    if state.phase is Phase.RELEASING and ReleaseContext(run).ends_as("kept") != "kept":
        return "refused", refusal(run)
    if state.phase is Phase.RELEASING:
        name = run.clients.executor.name
        ends = stayed if ReleaseContext(run).leaving else kept
        state = run.advance(ends(state, run=run.request.run, at=run.clock.now(), executor=name))
    elif state.verb == "roll_back":
        # Another process abandoned it and may have died. If it only sleeps, it changes nothing from now on.
        state = run.take()
    else:
        return "refused", f"{run.group.name} is {state.phase}: it is released, so there is nothing to abandon"
    if leaving := ReleaseContext(run).leaving:
        attempt.facts = {"epoch": state.epoch}
        for name in state.standbys:
            # Where one does not answer dr_health copies it later. dr_flows lets the flow run again.
            with suppress(KafkaDrError):
                run.clients.register(name).copy(state)
        return "done", f"{leaving} stays a standby of {state.group} (epoch {state.epoch}), and no run holds the group"
    standbys = ReleaseContext(run).standbys
    for name in standbys:
        run.clients.register(name).copy(state)
    guard, flows = run.guard_by(state.active, Unchanged(state)), ReleaseContext(run).flows
    for flow in flows:
        guard.require()
        run.clients.replicator(flow).resume()
    attempt.facts = {"epoch": state.epoch}
    attempt.proofs = (
        *(_runs(run, flow) for flow in flows),
        *(run.writes_refused(name).named("standby_refuses") for name in standbys),
    )
    said = f"{run.group.name} is still adopted (epoch {state.epoch}), and no run holds it"
    return shortfall(attempt.proofs, failed="failed") or ("done", said)
