"""Makes the config sync plan of a group that no run holds, and keeps it in the evidence.

Both clusters are read again for each plan; a plan that was shown or approved is identified by its digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.approvals.journaled import ApprovalJournal
from kafka_dr.checks.config_compare import current_plan
from kafka_dr.checks.record_limits import records_fit
from kafka_dr.config_sync import gate
from kafka_dr.config_sync.items import ItemVerdict
from kafka_dr.config_sync.lock import FACTS
from kafka_dr.config_sync.plan import Plan
from kafka_dr.config_sync.text import lines, table
from kafka_dr.errors import Refused
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchResult, at_rest, of_each_standby
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.members import configured_like
from kafka_dr.runs.record import StepRecord

#: The steps, and their numbers in the evidence.
PLAN, APPROVAL, APPLY_SAFE, APPLY = "plan", "approval", "apply_safe", "apply"
NUMBERS = {PLAN: 1, APPLY_SAFE: 1, APPROVAL: 2, APPLY: 3}
#: The cluster ids of the first comparison, among the facts of both registers.
_CLUSTERS = "clusters"


class ConfigSyncRun(GroupContext):
    """A protection group, and the run that compares and changes its configuration.

    :param run_id: the id of the run, Airflow's ``run_id``
    """

    def __init__(self, group: str, clients: Clients, run_id: str) -> None:
        super().__init__(group, clients)
        self.run_id = run_id


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan, and its record in the evidence.

    :param lines: the plan in colour, for a log
    :param record: its evidence; ``None`` if nothing differs
    """

    plan: Plan
    lines: tuple[str, ...]
    record: StepRecord | None


def plan_config(
    group: str, clients: Clients, run_id: str, *, accept_cluster_ids: bool = False
) -> KeptPlan | WatchResult:
    """Compare the active cluster with its standby, and write the plan to the evidence if anything differs.

    A run changes one standby: of several the first one that differs. The next run plans the others.

    :param accept_cluster_ids: a cluster was replaced on purpose: accept the ids that the topology declares now
    :returns: a :class:`WatchResult` that says why nothing was compared, if a run holds the group
    """
    run = ConfigSyncRun(group, clients, run_id)
    state = at_rest(group, run.read_register_state())
    if isinstance(state, WatchResult):
        return state
    if said := configured_like(run, state):
        return WatchResult(group, "left_alone", (said,))
    attempt = start_plan(run)
    plan = current_plan(run, state)
    check_cluster_ids(run, state, replace=accept_cluster_ids)
    return keep_plan(run, attempt, plan)


def start_plan(run: ConfigSyncRun) -> Attempt:
    """Begin the evidence of a plan."""
    return Attempt.start(run.group.name, run.run_id, run.clients, PLAN, NUMBERS[PLAN])


def watch_config(group: str, clients: Clients) -> WatchResult:
    """Check whether each standby is configured to become active; what must match and does not, or is unknown, fails."""
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state
    fit = records_fit(context, state.active)
    too_large = [] if fit.outcome == "ok" else [fit.detail]

    def judged(standby: str) -> WatchResult:
        answer = gate.ask(current_plan(context, state, standby))
        return WatchResult(group, answer.outcome, (answer.sentence, *too_large))

    return of_each_standby(state, judged)


def keep_plan(run: ConfigSyncRun, attempt: Attempt, plan: Plan) -> KeptPlan:
    """Write a plan to the evidence, unless nothing differs and the run has no plan there yet."""
    answer = gate.ask(plan)
    fit = records_fit(run, plan.active)
    said = (*lines(plan), *([] if fit.outcome == "ok" else [fit.detail]))
    if not plan.items and not plan.access and run.clients.evidence.newest(plan.group, run.run_id, PLAN) is None:
        return KeptPlan(plan, said, None)
    attempt.checks = (Check("standby_configured", answer.outcome, answer.sentence), fit)
    attempt.facts = {
        "verb": "config_sync",
        "source": plan.active,
        "target": plan.standby,
        "epoch": plan.epoch,
        "cluster_ids": list(plan.cluster_ids),
        "digest": plan.digest,
        "needs_approval": len(plan.of(ItemVerdict.APPROVAL)),
        "safe": len(plan.of(ItemVerdict.SAFE)),
        "difference": table(plan),
    }
    return KeptPlan(plan, said, attempt.end(run.clients, "done", plan.summary))


def newest_plan(run: ConfigSyncRun) -> Mapping[str, Any] | None:
    """Return the facts of this run's newest plan in the evidence; ``None`` if there is none, or if it was refused."""
    kept = run.clients.evidence.newest(run.group.name, run.run_id, PLAN)
    facts: Mapping[str, Any] = (kept or {}).get("facts", {})
    return facts if "digest" in facts else None


def plan_of(run: ConfigSyncRun, state: RegisterState) -> Plan:
    """Return the plan of this moment for the standby that this run has planned for."""
    kept = newest_plan(run)
    return current_plan(run, state, str(kept["target"]) if kept is not None else None)


def approval_journal(run: ConfigSyncRun, active: str) -> ApprovalJournal:
    """Return where the questions and answers of a run are kept: the active cluster's register.

    :param active: the active cluster
    """
    register, group, name = run.clients.register(active), run.group.name, run.run_id
    return ApprovalJournal(
        name,
        "config_sync",
        active,
        read=lambda: register.facts(group, name),
        add=lambda fact, payload: register.add_fact(group, name, fact, payload),
    )


def has_safe_changes(group: str, clients: Clients, run_id: str) -> bool:
    """Return whether this run's newest plan has changes that may be made without an approval."""
    run = ConfigSyncRun(group, clients, run_id)
    kept = newest_plan(run)
    return kept is not None and kept["safe"] > 0 and run.group.config_sync.apply_safe


def check_cluster_ids(run: ConfigSyncRun, state: RegisterState, *, replace: bool = False) -> None:
    """Compare the topology's cluster ids with the journaled ones of the first comparison, and journal new ones.

    :param replace: accept other ids, and journal them
    :raises Refused: the topology declares another cluster than it did at the first comparison
    """
    names = (state.active, *state.followers)
    declared = {name: run.clients.topology.cluster(name).cluster_id for name in names}
    # Journaled on all clusters: any of them may be active later.
    kept = {name: run.clients.register(name).facts(run.group.name, FACTS).get(_CLUSTERS, {}) for name in names}
    changed = {name for pins in kept.values() for name in names if pins.get(name, declared[name]) != declared[name]}
    if changed and not replace:
        raise Refused(
            f"{', '.join(sorted(changed))} had another cluster id when the configuration of {run.group.name} was first "
            "compared: if the cluster was replaced on purpose, trigger dr_config_sync with accept_cluster_ids, else "
            "fix the topology"
        )
    for name, pins in kept.items():
        if not declared.items() <= pins.items():
            run.clients.register(name).write_fact(run.group.name, FACTS, _CLUSTERS, {**pins, **declared})
