"""Undo a run before its point of no return: the source takes writes again, the target refuses, the flow runs.

Decided by reading the register, never by what a scheduler believes. First the compare-and-set, with a higher epoch;
only its winner touches ACLs, so that a hand-over and a roll back can never both happen. Then the source is opened,
so that a healthy source is never kept shut by a dead target; only then is the target looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown, Refused
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.record import Check, StepOutcome, StepRecord, worst
from kafka_dr.failover.request import ROLL_BACK_NUMBER, RunRequest
from kafka_dr.failover.run import PROOF_SECONDS, Run
from kafka_dr.failover.world import World
from kafka_dr.fencing import plan, proof
from kafka_dr.fencing.change import Permission
from kafka_dr.register import Phase, RegisterConflict, RegisterState
from kafka_dr.register.transitions import rolled_back
from kafka_dr.replication import Flow


def roll_back(request: RunRequest, world: World) -> StepRecord:
    """Undo what a run did, if it still may be undone.

    :raises StepFailed: it may not, or could not be brought to an end; running it again goes on where it stopped
    """
    attempt = Attempt.start(request, world, "roll_back", ROLL_BACK_NUMBER)
    try:
        outcome, detail = _go(Run(request, world), attempt)
    except (OutcomeUnknown, NeedsPerson) as error:
        return attempt.end(world, "unknown", str(error))
    except KafkaDrError as error:
        return attempt.end(world, "failed", str(error))
    record = attempt.end(world, outcome, detail)
    world.evidence.seal(request.protection_group, request.run)
    return record


def _go(run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    state = _won(run)
    if state is None or state.run != run.request.run:
        return "done", f"run {run.request.run} holds nothing in the register: there is nothing to undo"
    if state.verb != "roll_back":
        return (
            "refused",
            f"{run.group.name} is {state.phase} with {state.active} active: the point of no return is passed and the "
            "run goes forward; clear the failed task, or finish the run with dr_resume",
        )
    attempt.facts = _undo(run, state)
    attempt.proofs = _proofs(run, state)
    if (found := worst(attempt.proofs)) != "ok":
        reasons = " ".join(f"{proof.name}: {proof.detail}." for proof in attempt.proofs if proof.outcome != "ok")
        return ("failed" if found == "failed" else "unknown"), reasons
    return "done", f"{run.group.name} is stable on {state.active} again (epoch {state.epoch})"


def _won(run: Run) -> RegisterState | None:
    """Take the group back from every step of the run that still lives somewhere, and return what the register says."""
    state = run.standing
    if state is None or state.run != run.request.run or state.phase is not Phase.SWITCHING:
        return state
    new = rolled_back(state, run=run.request.run, at=run.clock.now())
    try:
        run.world.register(state.active).compare_and_set(state, new)
    except RegisterConflict as lost:
        # A step of the run that still lives, or another roll back, was faster: what it wrote decides.
        return lost.found
    return new


def _undo(run: Run, state: RegisterState) -> Mapping[str, Any]:
    permission = _permission(run, state)
    source = run.acl_changes(state.active, permission)
    lifted = source.lift(plan.standby(run.group))
    facts: dict[str, Any] = {"epoch": state.epoch, "lifted_on_source": len(lifted)}
    try:
        target = run.acl_changes(state.standby, permission)
        target.add(plan.application_denies(run.group), plan.probe_fence(run.group) | plan.probe_freeze(run.group))
        run.world.register(state.standby).copy(state)
        target.lift(plan.flow_fence(run.group))
        run.world.replicator(_flow(run, state)).resume()
    except KafkaDrError as error:
        if isinstance(error, Refused):
            raise
        facts["target"] = f"could not be reached and is fenced when it returns: {error}"
    return facts


def _flow(run: Run, state: RegisterState) -> Flow:
    return Flow(run.group.name, state.active, state.standby)


def _permission(run: Run, state: RegisterState) -> Permission:
    def ask() -> None:
        found = run.world.register(state.active).read(run.group.name)
        if found != state:
            raise Refused(f"{state.active}'s register no longer holds this roll back: no ACL was changed")

    return ask


def _proofs(run: Run, state: RegisterState) -> tuple[Check, ...]:
    probe, groups = run.probe(state.active), run.consumer_groups(state.active)
    allowed = run.writes_allowed(state.active)
    readable = proof.reads_allowed(probe, groups, clock=run.clock, deadline_seconds=PROOF_SECONDS)
    return (
        Check.of("source_takes_writes", allowed),
        Check.of("groups_readable", readable),
        *_target_proofs(run, state),
    )


def _target_proofs(run: Run, state: RegisterState) -> tuple[Check, ...]:
    """A dead target proves nothing and keeps nobody from working: it is named, and fenced when it returns."""
    try:
        refused = run.writes_refused(state.standby)
        status = run.world.replicator(_flow(run, state)).wait_running(run.group.timing.protect_wait_seconds)
    except KafkaDrError as error:
        return (Check("target_refuses", "unknown", f"{state.standby} did not answer: {error}"),)
    flow = Check.that("flow_runs", status.state == "running", f"{_flow(run, state).connector} is {status.state}")
    return (Check.of("target_refuses", refused), flow)
