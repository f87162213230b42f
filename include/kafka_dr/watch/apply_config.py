"""Applies a config sync plan to the standby of a group that no run holds.

The plan is made again from both clusters and must have the digest that was shown or approved. Right before each batch
of changes the lock, the cluster ids and the register are checked again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from kafka_dr import parallel
from kafka_dr.approvals.approval import judge, not_answered
from kafka_dr.approvals.journaled import ApprovalJournal
from kafka_dr.checks.config_compare import require_cluster
from kafka_dr.config_sync.applying import Applying, Failure
from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict
from kafka_dr.config_sync.lock import HeldLock, held
from kafka_dr.config_sync.plan import Plan
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.outcomes import Check, worst
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchResult, at_rest
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import PROOF_SECONDS
from kafka_dr.runs.record import StepOutcome, StepRecord
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged
from kafka_dr.runs.request import StepName
from kafka_dr.waiting import wait_until
from kafka_dr.watch.config_plan import (
    APPLY,
    APPLY_SAFE,
    NUMBERS,
    ConfigSyncRun,
    approval_journal,
    check_cluster_ids,
    keep_plan,
    newest_plan,
    plan_of,
    start_plan,
)

#: The fact that the approved changes were made: the answer has been used.
_USED = "applied"
#: How long a broker may take for each change until it shows it: it creates the logs of one topic after the other.
_SECONDS_A_CHANGE = 0.1
_MOST_NAMED = 3


def apply_config(group: str, clients: Clients, run_id: str, *, approved: bool) -> StepRecord:
    """Apply the newest plan of this run, if both clusters are still as it shows.

    :param approved: also apply changes that need an approval, which must be in this run's evidence; else only safe ones
    :raises StepFailed: it was refused, failed, or its result is unknown; the record names the changes that were not
        made
    """
    run = ConfigSyncRun(group, clients, run_id)
    step = APPLY if approved else APPLY_SAFE
    attempt = Attempt.start(run.group.name, run.run_id, clients, step, NUMBERS[step])
    return attempt.carry_out(clients, lambda: _outcome(run, attempt, approved=approved), refusal="refused")


def safe_changes_made(standby: str, made: Sequence[str]) -> str:
    """Say what a look has changed: after it, nothing differs any more that would show it.

    :param made: the changes, as the record of the step has them
    """
    return (
        f"{counted(len(made), 'safe change was', 'safe changes were')} made on {standby} by this look: {_named(made)}"
    )


def _outcome(run: ConfigSyncRun, attempt: Attempt, *, approved: bool) -> tuple[StepOutcome, str]:
    left, failures = _apply(run, attempt, approved=approved)
    if failures or worst(attempt.proofs) != "ok":
        reasons = "; ".join(f"{failure.item.subject}: {failure.reason}" for failure in failures[:5])
        many = counted(len(failures), "change was", "changes were")
        said = f"{many} not made: {reasons}" if failures else attempt.proofs[0].detail
        return ("failed" if failures else "unknown"), said
    made = attempt.intent
    many, named = counted(len(made), "change was", "changes were"), _named(made)
    return "done", f"{many} made ({named}), {counted(len(left.changes), 'is', 'are')} left: {left.summary}"


def _named(made: Sequence[str]) -> str:
    more = f" and {len(made) - _MOST_NAMED} more" if len(made) > _MOST_NAMED else ""
    return f"{'; '.join(made[:_MOST_NAMED]) or 'none'}{more}"


def _apply(run: ConfigSyncRun, attempt: Attempt, *, approved: bool) -> tuple[Plan, tuple[Failure, ...]]:
    shown = _shown(run)
    if not approved and not run.group.config_sync.apply_safe:
        raise Refused(
            f"config_sync.apply_safe of {run.group.name} is not set in the topology, so no change is made without an "
            "approval"
        )
    state = at_rest(run.group.name, run.read_register_state())
    if isinstance(state, WatchResult):
        raise Refused(state.summary)
    journal = approval_journal(run, state.active)
    if approved:
        attempt.checks = _approved(run, journal, shown)
        if worst(attempt.checks) != "ok":
            raise Refused(" ".join(check.detail for check in attempt.checks if check.outcome != "ok"))
    check_cluster_ids(run, state)
    with _lock(run, state) as lock:
        plan = plan_of(run, state)
        _require_quiet_mirrormaker(plan)
        if plan.digest != shown:
            raise Refused(
                f"the differences changed after the plan was shown (digest {plan.digest[:12]}, shown {shown[:12]}): "
                "nothing was changed; make a new plan"
            )
        verdicts = (ItemVerdict.SAFE, ItemVerdict.APPROVAL) if approved else (ItemVerdict.SAFE,)
        wanted = [item for item in plan.changes if item.verdict in verdicts]
        attempt.intent = tuple(str(item) for item in wanted)
        failures = _applying(run, state, plan.standby, config_guard(run, state, plan, lock)).make(wanted, seen=plan)
        if approved:
            journal.add(_USED, {"digest": shown, "at": run.clock.now().isoformat()})
        left = _read_back(run, state, wanted, failures)
    keep_plan(run, start_plan(run), left)
    missing = _missing(wanted, failures, left)
    unseen = _unread(left) - _unread(plan)
    attempt.facts = {"verb": "config_sync", "digest": shown, "failures": [[f.item.subject, f.reason] for f in missing]}
    said = f"{len(wanted) - len(missing)} of {len(wanted)} changes were read back"
    if unseen and not missing:
        said = f"{min(unseen)[1]} can no longer be read, so it is not known whether its changes were made"
    attempt.proofs = (Check("read_back", "failed" if missing else "unknown" if unseen else "ok", said),)
    return left, missing


def _unread(plan: Plan) -> set[tuple[str, str, str]]:
    """Return what could not be read on the two clusters."""
    return {item.about for item in plan.of(ItemVerdict.UNKNOWN) if item.kind is not ItemKind.FLOW}


def _missing(wanted: Collection[Item], failures: Collection[Failure], left: Plan) -> tuple[Failure, ...]:
    """Return the changes that are not there when read back, whatever their answers said.

    A failed change that no longer differs was made after all, maybe by somebody else. A change that was not attempted
    is a failure even if the new difference needs no change. A change that was made may still be shown as a note.
    """
    rows, changes = {item.about for item in left.items}, {item.about for item in left.changes}
    failed = {failure.item.about for failure in failures}
    silent = (item for item in wanted if item.about in changes - failed)
    return (
        *(failure for failure in failures if failure.item.about in rows),
        *(Failure(item, "was sent without an error, but was not there when read back") for item in silent),
    )


def _applying(run: ConfigSyncRun, state: RegisterState, standby: str, guard: RegisterGuard) -> Applying:
    def ensure_fence() -> None:
        run.acl_changes(standby, guard).add(*run.standby_fence_in_order(state, standby))

    return Applying(
        run.operator(standby),
        compare=lambda: plan_of(run, state),
        guard=guard.require,
        ensure_fence=ensure_fence,
        clock=run.clock,
    )


def _lock(run: ConfigSyncRun, state: RegisterState) -> AbstractContextManager[HeldLock]:
    return held(
        run.group.name,
        run.run_id,
        cluster=run.operator(state.active),
        register=run.clients.register(state.active),
        clock=run.clock,
        seconds=run.group.timing.step_deadline_seconds,
    )


def config_guard(run: ConfigSyncRun, state: RegisterState, plan: Plan, lock: HeldLock) -> RegisterGuard:
    """Return what is asked right before each batch: the lock, both clusters' ids, then the register."""

    def same_clusters() -> None:
        found = parallel.ask_all(lambda name: run.operator(name).topics.identity(), (plan.active, plan.standby))
        for name, identity in found.items():
            require_cluster(run, name, identity.cluster_id)

    return run.guard_by_all(Unchanged(state), first=(lock.renew, same_clusters))


def _read_back(
    run: ConfigSyncRun, state: RegisterState, wanted: Collection[Item], failures: Collection[Failure]
) -> Plan:
    """Plan again until every accepted change is there: a broker may show a change a moment after it was made."""
    refused = {failure.item.about for failure in failures}
    accepted = {item.about for item in wanted} - refused
    return wait_until(
        lambda: plan_of(run, state),
        lambda left: accepted.isdisjoint(item.about for item in left.changes),
        clock=run.clock,
        seconds=PROOF_SECONDS + len(wanted) * _SECONDS_A_CHANGE,
    )


def _shown(run: ConfigSyncRun) -> str:
    kept = newest_plan(run)
    if kept is None:
        raise Refused(
            f"run {run.run_id} has no plan for {run.group.name} in its evidence, so there is nothing to apply: make a "
            "plan first"
        )
    return str(kept["digest"])


def _approved(run: ConfigSyncRun, journal: ApprovalJournal, digest: str) -> tuple[Check, ...]:
    answer = journal.answered(StepName.APPROVAL)
    if answer is None:
        return (not_answered(journal, [StepName.APPROVAL]),)
    same = f"the approval is for the plan {answer.digest[:12]}, the newest plan is {digest[:12]}"
    return (
        *judge(run, answer),
        Check.that("same_plan", answer.digest == digest, same),
        _not_used(journal),
    )


def _not_used(journal: ApprovalJournal) -> Check:
    used = journal.read().get(_USED)
    said = "no changes were made with this approval before"
    if used is not None:
        said = f"the changes that were approved in run {journal.run} were made at {used['at']}: make a new plan"
    return Check.that("answer_not_used", used is None, said)


def _require_quiet_mirrormaker(plan: Plan) -> None:
    """Refuse to change anything while MirrorMaker may change the same.

    :raises Refused: its flow syncs configurations, or that is not known
    """
    busy = next((item for item in plan.items if item.kind is ItemKind.FLOW), None)
    if busy is not None:
        raise Refused(busy.reason)
