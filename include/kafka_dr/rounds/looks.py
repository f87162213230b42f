"""The looks of the watches, as a child process finds them by name. Each imports what it needs when it is called."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kafka_dr.errors import KafkaDrError
from kafka_dr.rounds.look import LookTools
from kafka_dr.runs.at_rest import WatchResult

_HERE = "kafka_dr.rounds.looks"
HEALTH, CANARY, FLOWS = f"{_HERE}:health", f"{_HERE}:canary", f"{_HERE}:flows"
BETWEEN = f"{_HERE}:between"
OFFSET_SYNCS, OFFSETS, CONFIG_SYNC = f"{_HERE}:offset_syncs", f"{_HERE}:offsets", f"{_HERE}:config_sync"

#: The setting of readiness that holds what was checked where the steps run: rows of name, outcome and detail.
EXECUTOR = "executor"
#: The kept figure that says why the topology's rule calls the active cluster down; empty if it does not.
ACTIVE_DOWN = "active_down"
#: Figures of a result that concern its run alone. They begin so, and are not kept.
PROPOSES, ASKS, PLAN, CHANGED = "_proposes", "_asks", "_plan", "_changed"


def health(group: str, tools: LookTools) -> WatchResult:
    """Check that each cluster is in its role, and fence one that returned; consider at the same time a proposal."""
    from kafka_dr.health.failover_proposal import ProposalDecision, consider_proposal
    from kafka_dr.health.health_check import check_health
    from kafka_dr.runs.background import BackgroundCall

    clients = tools.clients
    if not clients.topology.group(group).disaster.auto_propose:
        return check_health(group, clients, speed=tools.speed)
    considered = BackgroundCall("the proposal", lambda: consider_proposal(group, clients))
    found = check_health(group, clients, speed=tools.speed)
    try:
        proposal = considered.within(tools.seconds)
    except KafkaDrError:
        # The task that proposes asks again, and shows what is wrong.
        return replace(found, facts={**found.facts, PROPOSES: True})
    is_down = proposal.decision in (ProposalDecision.PROPOSE, ProposalDecision.HELD)
    down = {ACTIVE_DOWN: proposal.sentence if is_down else ""}
    return replace(found, facts={**found.facts, **down, PROPOSES: proposal.decision is not ProposalDecision.NOTHING})


def between(group: str, tools: LookTools) -> WatchResult:
    """Wait until a cluster of the group answers otherwise than the last look heard: the settings say how it did."""
    from kafka_dr.health.between_looks import ANSWER_SECONDS, changed_clusters

    own = {
        name: tools.settings[name] for name in tools.clients.topology.group(group).clusters if name in tools.settings
    }
    changed = changed_clusters(own, tools.clients, seconds=tools.seconds - 2 * ANSWER_SECONDS)
    return WatchResult(group, "ok", tuple(f"{name} changed" for name in changed), {CHANGED: list(changed)})


def readiness(group: str, tools: LookTools) -> WatchResult:
    """Ask every verb whether it could be used now."""
    from kafka_dr.outcomes import Check
    from kafka_dr.readiness_checks.look import look_at_readiness

    of_executor = tuple(Check(*row) for row in tools.settings.get(EXECUTOR, ()))
    return look_at_readiness(group, tools.clients, of_executor)


def canary(group: str, tools: LookTools) -> WatchResult:
    """Send canaries through the flow of the group, or through an observed flow, and judge how they arrive."""
    if (observed := tools.clients.topology.observed_flows.get(group)) is not None:
        from kafka_dr.watch.observed_canary import watch_observed_canary

        return watch_observed_canary(observed, tools.clients)
    from kafka_dr.watch.canary_check import watch_canary

    return watch_canary(group, tools.clients)


def flows(group: str, tools: LookTools) -> WatchResult:
    """Compare the flows with what the register requires, correct them, and check that they make progress."""
    from kafka_dr.watch.reconcile_flows import reconcile_flows

    return reconcile_flows(group, tools.clients)


def offset_syncs(group: str, tools: LookTools) -> WatchResult:
    """Archive what was written since the last look; then apply the topology's rules of retention."""
    from kafka_dr.group_offsets.sync_archive import archive_syncs
    from kafka_dr.retention.expiry import expire_daily

    archived = archive_syncs(group, tools.clients)
    expired = expire_daily(group, tools.clients)
    outcome = expired.outcome if archived.outcome == "ok" else archived.outcome
    return replace(archived, outcome=outcome, sentences=(*archived.sentences, *expired.sentences))


def offsets(group: str, tools: LookTools) -> WatchResult:
    """Show where each consumer group would resume if the switch were now, and write the report."""
    from kafka_dr.audit.report_folders import prune, report_folder
    from kafka_dr.group_offsets.offset_preview import Preview, preview_offsets
    from kafka_dr.runs.at_rest import at_rest, of_each_standby
    from kafka_dr.runs.group_context import GroupContext

    clients, now = tools.clients, tools.clients.clock.now()
    state = at_rest(group, GroupContext(group, clients).read_register_state())
    if isinstance(state, WatchResult):
        return state
    active = state.active

    def look(standby: str) -> WatchResult:
        reports = f"audits/{group}/offsets/{active}-to-{standby}"
        folder = f"{reports}/{report_folder(now, tools.run, 1)}"
        found = preview_offsets(group, clients, folder=folder, standby=standby)
        keep = timedelta(seconds=clients.topology.group(group).audits.keep_fingerprints_seconds)
        prune(clients.evidence_root.joinpath(*reports.split("/")), now=now, keep=keep)
        if not isinstance(found, Preview):
            return found
        figures = {name: found.report[name] for name in ("verdict", "redelivered", "mm2_redelivered")}
        return replace(found.watched, facts={**figures, "report": f"{folder}/report.json"})

    return of_each_standby(state, look, copies_alone=True)


def config_sync(group: str, tools: LookTools) -> WatchResult:
    """Plan, make the safe changes, and judge whether the standby can take over."""
    from kafka_dr.config_sync.items import ItemVerdict
    from kafka_dr.watch.apply_config import apply_config, safe_changes_made
    from kafka_dr.watch.config_plan import has_safe_changes, plan_config, watch_config

    clients = tools.clients
    planned = plan_config(group, clients, tools.run, accept_cluster_ids=tools.settings.get("accept_cluster_ids", False))
    if isinstance(planned, WatchResult):
        return planned
    said: tuple[str, ...] = planned.lines if planned.record is not None else ()
    problem, made = "", tuple[str, ...]()
    if has_safe_changes(group, clients, tools.run):
        try:
            applied = apply_config(group, clients, tools.run, approved=False)
            said = (*said, f"safe changes: {applied.outcome}")
            made = (safe_changes_made(planned.plan.standby, applied.intent),)
        except KafkaDrError as error:
            problem = f"the safe changes were not made: {error}"
    judged = watch_config(group, clients)
    asks = bool(planned.plan.of(ItemVerdict.APPROVAL))
    outcome = "failed" if problem and judged.outcome == "ok" else judged.outcome
    sentences = (*judged.sentences, *filter(None, (problem,)))
    sentences = (*made, *sentences) if outcome == "ok" else (*sentences, *made)
    return replace(judged, outcome=outcome, sentences=sentences, facts={**judged.facts, ASKS: asks, PLAN: list(said)})
