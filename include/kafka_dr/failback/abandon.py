"""Abandon a failback: its flow is stopped, and another failback may begin. What it deleted stays deleted.

The right to delete topics is removed, too: a process that was killed right after it deleted them may have kept it.
"""

from __future__ import annotations

from kafka_dr.failback.prepare_old_cluster import approved_deletes, take_right_back
from kafka_dr.fencing import plan
from kafka_dr.register.transitions import failback_abandoned
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepOutcome, StepRecord
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.undoing import carry_out_undoing


def abandon(request: RunRequest, clients: Clients) -> StepRecord:
    """Take a group away from the failback that holds it. The group stays diverged.

    :param request: the failback to abandon
    :raises StepFailed: another run holds the group, or a cluster did not answer; then run it again
    """
    return carry_out_undoing(request, clients, lambda run, _: _go(run), refusal="refused")


def _go(run: Run) -> tuple[StepOutcome, str]:
    state = run.register_state
    if state is None or state.run != run.request.run:
        return (
            "done",
            f"run {run.request.run} does not hold {run.group.name} in the register: there is nothing to abandon",
        )
    if state.verb == "failback":
        # The epoch rises first: a step of this run that is still alive somewhere changes nothing after this.
        name = run.clients.executor.name
        state = run.advance(failback_abandoned(state, run=run.request.run, at=run.clock.now(), executor=name))
    else:
        # Another process abandoned it and may have died. If it only sleeps, it changes nothing from now on.
        state = run.take()
    guard = run.guard_by(run.source, Unchanged(state))
    if not run.opens_copy:
        # First what late records come by: its own cluster may not answer.
        run.acl_changes(run.source, guard).add(plan.copy_flow_fence(run.group, run.target, run.source))
        _stop(run, run.flow_back, guard)
    guard.require()
    take_right_back(run, run.acl_changes(run.target, guard), approved_deletes(run.journal.get("claim", {})))
    _stop(run, run.flow, guard)
    run.clients.register(run.target).copy(state)
    return "done", f"{run.group.name} is still diverged (epoch {state.epoch}), and no failback holds it"


def _stop(run: Run, which: Flow, guard: RegisterGuard) -> None:
    flow = run.clients.replicator(which)
    if not flow.status().at_rest:
        guard.require()
        flow.stop()
        flow.wait_stopped(run.group.timing.step_deadline_seconds)
