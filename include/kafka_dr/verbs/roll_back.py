"""Undo a run before its point of no return: the source accepts writes again, the target refuses them, the flow runs.

The register decides whether that is possible, not the scheduler. First comes the compare-and-set with a higher epoch.
Only its winner changes ACLs, so a hand-over and a roll back can never both happen. Then the source is opened. Only
after that the target is asked, so a dead target never keeps a healthy source fenced.

In an unplanned failover the target's register decides, and the source may be dead: it gets a few seconds in the
background. If the run has changed it and it does not answer, the outcome is unknown, and the roll back is run again.
A target to which the run has fetched records of another standby is *diverged* then: its flow would copy them again. So
would it if an earlier run has fetched them: the flow stays fenced, whatever this run was. Where copies have names of
their own, ``dr_flows`` lets it continue after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kafka_dr.adoption.take_over.give_back import give_back
from kafka_dr.clusters import Acl
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.failover.unplanned.claim import asking
from kafka_dr.failover.unplanned.fetch_writing import ledger_name, ledger_of, take_right_back
from kafka_dr.fencing import plan
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState, most_registers
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import rolled_back
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.fetch_ledger import final_ledger, transactional_id
from kafka_dr.runs import background
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepOutcome, StepRecord, shortfall
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.settle import tell_further_standbys
from kafka_dr.runs.signs_of_life import showing_life
from kafka_dr.runs.undoing import carry_out_undoing, take_back

#: How long a source that may be dead gets to answer, in seconds.
SOURCE_SECONDS = 5.0
#: How long its register may take to take the record.
_TELL_SECONDS = 3.0
#: The fact that names a flow that may not run any more, and why.
_STAYS_STOPPED = "flow_stays_stopped"


def roll_back(request: RunRequest, clients: Clients) -> StepRecord:
    """Undo a run, if its point of no return is not passed. A take over is given back.

    :raises StepFailed: the point of no return is passed, or a cluster did not answer; then run it again
    """
    if request.verb == "take_over":
        return give_back(request, clients)
    return carry_out_undoing(request, clients, _go)


def is_undone(record: StepRecord) -> bool:
    """Return whether a roll back that succeeded had something to undo."""
    return "epoch" in record.facts


def _go(run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    _ = run.register_state
    claims = [each for each in run.seen.values() if each and each.is_unproven and each.run == run.request.run]
    if claims and most_registers.withdraw(claims[0], run.seen, asking(run, claims[0].standby)):
        return "done", f"the claim of run {run.request.run} had not won, and is taken back: nothing else was changed"
    state = _take_back(run)
    if state is None or state.run != run.request.run:
        return "done", f"run {run.request.run} does not hold {run.group.name} in the register: there is nothing to undo"
    if state.verb != "roll_back":
        return (
            "refused",
            f"{run.group.name} is {state.phase} with {state.active} active: the point of no return is passed, so the "
            "run can only be finished. Clear the failed task, or finish the run with dr_resume",
        )
    with showing_life(run.clients, state, "roll_back"):
        attempt.facts = _undo(run, state)
        attempt.proofs = _proofs(run, state, copied=_STAYS_STOPPED not in attempt.facts)
    said = f"{run.group.name} is stable on {state.active} again (epoch {state.epoch})"
    return shortfall(attempt.proofs, failed="failed") or ("done", said)


def _take_back(run: Run) -> RegisterState | None:
    name = run.clients.executor.name

    def undone(state: RegisterState) -> RegisterState:
        fetched = False
        if state.verb == "unplanned_failover" and state.has_several and not state.is_unproven:
            # First no other process may begin to fetch, then none may commit what it has begun.
            state = run.take(at=decides(run, state))
            run.operator(run.target).transactions.take_over([transactional_id(run.group.name)])
            # Where copies have names of their own, their flow continues after what was fetched.
            fetched = run.opens_copy and any(entry.records for entry in ledger_of(run).values())
        return rolled_back(state, run=run.request.run, at=run.clock.now(), executor=name, fetched=fetched)

    return take_back(
        run,
        Phase.SWITCHING,
        undone=undone,
        taken=lambda state: run.take(at=decides(run, state)),
        again="the roll back",
    )


def _undo(run: Run, state: RegisterState) -> Mapping[str, Any]:
    guard = roll_back_guard(run, state)
    facts: dict[str, Any] = {"epoch": state.epoch}
    facts |= _open_source(run, state, guard)
    tell_further_standbys(run, state)
    try:
        target = run.acl_changes(state.moved_with, guard)
        run.look_for_topics(state.moved_with)
        target.add(*plan.standby_in_order(run.group.on(state.moved_with)))
        run.clients.register(state.moved_with).copy(state)
        if state.has_several:
            take_right_back(run, target, state.moved_with)
        if not _is_copy(state) or _was_fetched_to(run, state, guard):
            said = f"{_flow(run, state).name}: records of another standby were fetched to {state.moved_with}"
            return {**facts, _STAYS_STOPPED: said}
        target.lift(plan.fence_of_flow(run.group, state.active, state.moved_with))
    except KafkaDrError as error:
        if isinstance(error, Refused):
            raise
        facts["target"] = f"{state.moved_with} did not answer, and dr_health fences it when it does: {error}"
        return facts
    try:
        _resume_flow(run, state)
    except KafkaDrError as error:
        facts["flow"] = f"{_flow(run, state).name} was not resumed, and dr_flows does that: {error}"
    return facts


def _is_copy(state: RegisterState) -> bool:
    """Return whether the target is still a copy; else records were fetched to it, and no flow may write there."""
    return state.roles.of(state.moved_with) is Role.COPY


def _was_fetched_to(run: Run, state: RegisterState, guard: RegisterGuard) -> bool:
    """Return whether an earlier run has fetched records to the target, and was given up before anybody looked there.

    ``dr_flows`` writes to the registers that it is no copy, and until then the flow stays fenced.
    """
    if not state.has_several:
        return False
    guard.require()
    found = final_ledger(run.operator(state.moved_with), ledger_name(run, state.moved_with), run.clock)
    return any(entry.records for entry in found.values())


def _resume_flow(run: Run, state: RegisterState) -> None:
    """Resume the flow. With a dead source that takes a minute, so after an unplanned run nobody waits for it."""
    resume = run.clients.replicator(_flow(run, state)).resume
    run.source_policy.try_flow(resume, seconds=SOURCE_SECONDS)


def _open_source(run: Run, state: RegisterState, guard: RegisterGuard) -> dict[str, Any]:
    def open_it() -> frozenset[Acl]:
        run.clients.require_declared(state.active)
        if decides(run, state) != state.active:
            _tell_source(run, state)
        run.look_for_topics(state.active)
        group = run.group.on(state.active)
        return run.changes_at_source(guard).lift(plan.work_denies(group), plan.change_fence(group))

    try:
        seconds = SOURCE_SECONDS + _TELL_SECONDS + run.rules_need_seconds(state.active)
        lifted = run.source_policy.ask_source(state.active, open_it, seconds=seconds)
    except KafkaDrError as error:
        if not run.source_policy.can_do_without(error):
            raise
        return {"source": str(error)}
    return {"lifted_on_source": len(lifted)}


def _tell_source(run: Run, state: RegisterState) -> None:
    """Copy the record to the source's register, if it takes records: else ``dr_health`` does that later.

    Whatever it held before names the source active, too, so that nobody fences it meanwhile.
    """
    with suppress(KafkaDrError):
        background.ask(state.active, lambda: run.clients.register(state.active).copy(state), seconds=_TELL_SECONDS)


def decides(run: Run, state: RegisterState) -> str:
    """Return the cluster whose register decided that the run is rolled back."""
    return run.source_policy.decides(Phase.SWITCHING, source=state.active, target=state.moved_with)


def _flow(run: Run, state: RegisterState) -> Flow:
    return run.flow_between(state.active, state.moved_with)


def roll_back_guard(run: Run, state: RegisterState) -> RegisterGuard:
    """Return what is asked right before each change: does the deciding register still hold this roll back?

    :param state: the record that the roll back wrote
    """
    return run.guard_by(decides(run, state), Unchanged(state))


def _proofs(run: Run, state: RegisterState, *, copied: bool) -> tuple[Check, ...]:
    if decides(run, state) == state.active:
        return (*_source_proofs(run, state), *_target_proofs(run, state, copied=copied))
    try:
        source = background.ask(state.active, lambda: _source_proofs(run, state), seconds=SOURCE_SECONDS)
    except KafkaDrError as error:
        source = (_source_is_silent(run, state, error),)
    return (*source, run.writes_refused(state.moved_with).named("target_refuses"))


def _source_is_silent(run: Run, state: RegisterState, error: KafkaDrError) -> Check:
    """Judge a source that does not answer: if the run never changed it, nothing has to be lifted there."""
    if "source_touched" not in run.journal:
        return Check("source_left_alone", "ok", f"{state.active} does not answer, and this run changed nothing there")
    said = (
        f"{state.active} does not answer, and this run may have fenced it: run the roll back again when {state.active} "
        f"answers ({error})"
    )
    return Check("source_takes_writes", "unknown", said)


def _source_proofs(run: Run, state: RegisterState) -> tuple[Check, ...]:
    allowed = run.writes_allowed(state.active)
    readable = run.reads_allowed(state.active, run.consumer_groups(state.active))
    return (
        allowed.named("source_takes_writes"),
        readable.named("groups_readable"),
    )


def _target_proofs(run: Run, state: RegisterState, *, copied: bool) -> tuple[Check, ...]:
    """Ask whether the target refuses writes and the flow runs; a dead target is unknown, and applications can work."""
    try:
        refused = run.writes_refused(state.moved_with).named("target_refuses")
    except KafkaDrError as error:
        said = f"{state.moved_with} did not answer, and dr_health fences it when it does: {error}"
        return (Check("target_refuses", "unknown", said),)
    return (refused, _flow_runs(run, state)) if copied else (refused,)


def _flow_runs(run: Run, state: RegisterState) -> Check:
    flow = _flow(run, state).name
    try:
        status = run.clients.replicator(_flow(run, state)).wait_running(run.group.timing.protect_wait_seconds)
    except KafkaDrError as error:
        return Check("flow_runs", "unknown", f"{flow} was not seen running, and dr_flows resumes it: {error}")
    return Check.that("flow_runs", status.state == "running", f"{flow} is {status}")
