"""The config sync of a group: only while the register says that it stands still, and in the direction that it says.

A plan is made anew, from what both clusters say at that moment, each time it is needed; what was shown, and approved,
is known by its digest. Right before each batch of changes the register, the clusters' ids and the lock are asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from kafka_dr.approvals.approval import judge, newest_answer
from kafka_dr.checks.config_compare import current_plan, require_cluster
from kafka_dr.config_sync import Item, Kind, Plan, Verdict, gate
from kafka_dr.config_sync.applying import Applying, Failure
from kafka_dr.config_sync.lock import FACTS, HeldLock, held
from kafka_dr.config_sync.text import lines, table
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan as fences
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchResult, at_rest
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import PROOF_SECONDS, GroupContext
from kafka_dr.runs.record import Check, StepOutcome, StepRecord, worst

#: The steps, and their numbers in the evidence.
PLAN, APPROVAL, APPLY_SAFE, APPLY = "plan", "approval", "apply_safe", "apply"
NUMBERS = {PLAN: 1, APPLY_SAFE: 1, APPROVAL: 2, APPLY: 3}
#: The ids that the clusters had at first, among the facts of both registers.
_CLUSTERS = "clusters"
_LOOK_SECONDS = 0.2
#: How long a broker may take, for each of many changes, until it shows what it has acknowledged: it makes the logs of
#: a new topic before it takes in the next.
_SECONDS_A_CHANGE = 0.1


class ConfigSyncRun(GroupContext):
    """A protection group, and the run that compares and changes its configuration.

    :param run_id: the id of the run, Airflow's ``run_id``
    """

    def __init__(self, group: str, clients: Clients, run_id: str) -> None:
        super().__init__(group, clients)
        self.run_id = run_id


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan that was made, and kept.

    :param lines: the plan in colour, for a log
    :param record: its evidence; ``None`` where nothing differs
    """

    plan: Plan
    lines: tuple[str, ...]
    record: StepRecord | None


def plan_config(
    group: str, clients: Clients, run_id: str, *, accept_cluster_ids: bool = False
) -> KeptPlan | WatchResult:
    """Compare the active cluster with its standby, and keep the plan in the evidence where anything differs.

    :param accept_cluster_ids: a cluster was replaced on purpose: pin the ids that the topology names now
    :returns: why nothing was looked at, where the group does not stand still
    """
    run = ConfigSyncRun(group, clients, run_id)
    state = at_rest(group, run.read_register_state())
    if isinstance(state, WatchResult):
        return state
    attempt = start_plan(run)
    plan = current_plan(run, state)
    _pin(run, state, anew=accept_cluster_ids)
    return keep_plan(run, attempt, plan)


def start_plan(run: ConfigSyncRun) -> Attempt:
    """Begin the evidence of a plan."""
    return Attempt.start(run.group.name, run.run_id, run.clients, PLAN, NUMBERS[PLAN])


def watch_config(group: str, clients: Clients) -> WatchResult:
    """Say whether the standby is configured to take over; red where what must match does not, or is unknown."""
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state
    answer = gate.ask(current_plan(context, state))
    return WatchResult(group, answer.outcome, (answer.sentence,))


def apply_config(group: str, clients: Clients, run_id: str, *, approved: bool) -> StepRecord:
    """Apply what the newest plan of this run shows, if it still is the plan.

    :param approved: whether to apply what needs an approval as well, by the answer in this run's evidence; else only
        what is safe
    :raises StepFailed: it was refused, failed, or nobody knows; the record says which changes were not made
    """
    run = ConfigSyncRun(group, clients, run_id)
    step = APPLY if approved else APPLY_SAFE
    attempt = Attempt.start(run.group.name, run.run_id, clients, step, NUMBERS[step])
    return attempt.carry_out(clients, lambda: _go(run, attempt, approved=approved), refusal="refused")


def _go(run: ConfigSyncRun, attempt: Attempt, *, approved: bool) -> tuple[StepOutcome, str]:
    left, failures = _apply(run, attempt, approved=approved)
    if failures or worst(attempt.proofs) != "ok":
        reasons = "; ".join(f"{failure.item.subject}: {failure.reason}" for failure in failures[:5])
        said = f"{len(failures)} changes were not made: {reasons}" if failures else attempt.proofs[0].detail
        return ("failed" if failures else "unknown"), said
    made = len(attempt.intent)
    return "done", f"{made} changes made, {len(left.changes)} left: {left.summary}"


def _apply(run: ConfigSyncRun, attempt: Attempt, *, approved: bool) -> tuple[Plan, tuple[Failure, ...]]:
    shown = _shown(run)
    if approved:
        attempt.checks = _approved(run, shown)
        if worst(attempt.checks) != "ok":
            raise Refused(" ".join(check.detail for check in attempt.checks if check.outcome != "ok"))
    elif not run.group.config_sync.apply_safe:
        raise Refused("config_sync.apply_safe is not set in the topology, so nothing is changed without an approval")
    state = at_rest(run.group.name, run.read_register_state())
    if isinstance(state, WatchResult):
        raise Refused(state.summary)
    _pin(run, state)
    with _lock(run, state) as lock:
        plan = current_plan(run, state)
        _require_quiet_mirrormaker(plan)
        if plan.digest != shown:
            raise Refused(
                f"what differs now is not what was shown (digest {plan.digest[:12]}, shown {shown[:12]}): "
                "nothing was changed; plan again"
            )
        verdicts = (Verdict.SAFE, Verdict.APPROVAL) if approved else (Verdict.SAFE,)
        wanted = [item for item in plan.changes if item.verdict in verdicts]
        attempt.intent = tuple(str(item) for item in wanted)
        failures = _applying(run, state, _guard(run, state, plan, lock)).make(wanted, seen=plan)
        left = _read_back(run, state, wanted, failures)
    keep_plan(run, start_plan(run), left)
    missing = _missing(wanted, failures, left)
    unseen = _unread(left) - _unread(plan)
    attempt.facts = {"verb": "config_sync", "digest": shown, "failures": [[f.item.subject, f.reason] for f in missing]}
    said = f"{len(wanted) - len(missing)} of {len(wanted)} changes were read back"
    if unseen and not missing:
        said = f"{min(unseen)[1]} can no longer be read, so nobody knows what became of its changes"
    attempt.proofs = (Check("read_back", "failed" if missing else "unknown" if unseen else "ok", said),)
    return left, missing


def _unread(plan: Plan) -> set[tuple[str, str, str]]:
    """Return what of the standby itself, or of the active cluster, could not be read."""
    return {item.about for item in plan.of(Verdict.UNKNOWN) if item.kind is not Kind.CONNECTOR}


def _missing(wanted: Collection[Item], failures: Collection[Failure], left: Plan) -> tuple[Failure, ...]:
    """Return the changes that reading back does not show, whether or not their answers said so.

    What failed and differs no longer was made after all, or by somebody else; what was left alone is a failure also
    where what it became needs no change. What was made may stay as a note.
    """
    rows, changes = {item.about for item in left.items}, {item.about for item in left.changes}
    failed = {failure.item.about for failure in failures}
    silent = (item for item in wanted if item.about in changes - failed)
    return (
        *(failure for failure in failures if failure.item.about in rows),
        *(Failure(item, "was sent, and is not there") for item in silent),
    )


def _applying(run: ConfigSyncRun, state: RegisterState, guard: Callable[[], None]) -> Applying:
    def ensure_fence() -> None:
        run.acl_changes(state.standby, guard).add(*fences.standby_in_order(run.group))

    return Applying(
        run.operator(state.standby),
        compare=lambda: current_plan(run, state),
        guard=guard,
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


def _guard(run: ConfigSyncRun, state: RegisterState, plan: Plan, lock: HeldLock) -> Callable[[], None]:
    """Return what is asked right before each batch; the register last, since a change must follow it at once."""

    def still() -> None:
        lock.renew()
        names = (plan.active, plan.standby)
        for name, found in zip(names, run.at_once(*(run.operator(n).topics.identity for n in names)), strict=True):
            require_cluster(run, name, found.cluster_id)
        if run.read_register_state() != state:
            raise Refused(f"{run.group.name} began to move: what was not changed yet is left as it is")

    return still


def _read_back(
    run: ConfigSyncRun, state: RegisterState, wanted: Collection[Item], failures: Collection[Failure]
) -> Plan:
    """Plan again until what was made shows, as far as it was not refused; brokers may lag a moment behind."""
    refused = {failure.item.about for failure in failures}
    deadline = run.clock.monotonic() + PROOF_SECONDS + len(wanted) * _SECONDS_A_CHANGE
    while True:
        left = current_plan(run, state)
        missing = {item.about for item in left.changes} & ({item.about for item in wanted} - refused)
        if not missing or run.clock.monotonic() > deadline:
            return left
        run.clock.sleep(_LOOK_SECONDS)


def keep_plan(run: ConfigSyncRun, attempt: Attempt, plan: Plan) -> KeptPlan:
    """Keep a plan in the evidence, unless there is nothing to keep and nothing was kept before."""
    answer = gate.ask(plan)
    said = tuple(lines(plan))
    if not plan.items and not plan.access and run.clients.evidence.newest(plan.group, run.run_id, PLAN) is None:
        return KeptPlan(plan, said, None)
    attempt.checks = (Check("standby_configured", answer.outcome, answer.sentence),)
    attempt.facts = {
        "verb": "config_sync",
        "source": plan.active,
        "target": plan.standby,
        "epoch": plan.epoch,
        "cluster_ids": list(plan.cluster_ids),
        "digest": plan.digest,
        "needs_approval": len(plan.of(Verdict.APPROVAL)),
        "safe": len(plan.of(Verdict.SAFE)),
        "difference": table(plan),
    }
    return KeptPlan(plan, said, attempt.end(run.clients, "done", plan.summary))


def newest_plan(run: ConfigSyncRun) -> Mapping[str, Any] | None:
    """Return the facts of the newest plan that this run has kept, ``None`` where it kept none, or its was refused."""
    kept = run.clients.evidence.newest(run.group.name, run.run_id, PLAN)
    facts: Mapping[str, Any] = (kept or {}).get("facts", {})
    return facts if "digest" in facts else None


def _shown(run: ConfigSyncRun) -> str:
    kept = newest_plan(run)
    if kept is None:
        raise Refused(f"run {run.run_id} has shown no plan: there is nothing to apply")
    return str(kept["digest"])


def has_safe_changes(group: str, clients: Clients, run_id: str) -> bool:
    """Return whether this run's newest plan holds changes that may be made without asking."""
    run = ConfigSyncRun(group, clients, run_id)
    kept = newest_plan(run)
    return kept is not None and kept["safe"] > 0 and run.group.config_sync.apply_safe


def _approved(run: ConfigSyncRun, digest: str) -> tuple[Check, ...]:
    answer = newest_answer(run, run.run_id)
    if answer is None:
        return (Check.that("approved", False, f"nobody has approved the plan of run {run.run_id}"),)
    same = f"approved were the facts {answer.digest[:12]}, the newest plan is {digest[:12]}"
    return (*judge(run, answer), Check.that("same_plan", answer.digest == digest, same))


def _pin(run: ConfigSyncRun, state: RegisterState, *, anew: bool = False) -> None:
    """Hold the topology's cluster ids against those of the first time, and keep them if this is it.

    :raises Refused: the topology names another cluster than then
    """
    names = (state.active, state.standby)
    declared = {name: run.clients.topology.cluster(name).cluster_id for name in names}
    # Kept on both sides: whichever is active after a failover knows them.
    kept = {name: run.clients.register(name).facts(run.group.name, FACTS).get(_CLUSTERS, {}) for name in names}
    changed = {name for pins in kept.values() for name in names if pins.get(name, declared[name]) != declared[name]}
    if changed and not anew:
        raise Refused(
            f"{', '.join(sorted(changed))} had another cluster id when this group's configuration was first compared: "
            "if it was replaced on purpose, trigger dr_config_sync with accept_cluster_ids, else mend the topology"
        )
    for name, pins in kept.items():
        if not declared.items() <= pins.items():
            run.clients.register(name).write_fact(run.group.name, FACTS, _CLUSTERS, {**pins, **declared})


def _require_quiet_mirrormaker(plan: Plan) -> None:
    """Change nothing that MirrorMaker changes as well, or that it may for all that is known."""
    busy = next((item for item in plan.items if item.kind is Kind.CONNECTOR), None)
    if busy is not None:
        raise Refused(busy.reason)
