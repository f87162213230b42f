"""Audits, as a failover uses them: which flow to audit, and what the newest audits of that flow say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from kafka_dr.audit import gate
from kafka_dr.audit.gate import GateAnswer, GateVerdict
from kafka_dr.audit.result import AuditKind, ResultStore, ResultUnreadable
from kafka_dr.checks.recorded_audits import unless_changed
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import newest_seed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.at_rest import WatchResult, at_rest, waits_for_its_flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run
from kafka_dr.topology.group_keys import AuditsSpec
from kafka_dr.watch_results import WatchName, WatchResultStore, read_watch_status

_OUTCOMES: dict[GateAnswer, CheckOutcome] = {
    GateAnswer.GREEN: "ok",
    GateAnswer.WARNING: "warning",
    GateAnswer.RED: "failed",
    GateAnswer.TOO_OLD: "failed",
    GateAnswer.NEVER: "unknown",
    GateAnswer.UNKNOWN: "unknown",
}
_WATCHES: dict[AuditKind, WatchName] = {AuditKind.LAG: "lag", AuditKind.CHECKSUM: "checksum"}
#: What ``before_failover: not_red`` lets pass: a missing or outdated audit. Never one that could not decide.
_EXCUSED = (GateAnswer.TOO_OLD, GateAnswer.NEVER)


def flow_to_audit(group: str, clients: Clients, kind: AuditKind) -> Flow | WatchResult:
    """Return the flow from the active cluster to the standby, or why this group is not audited now.

    Of several standbys that answer, and that hold the copy, it is the one whose newest audit of that kind is the
    oldest, so all of them have their turn.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    """
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state
    flows = [context.flow_between(state.active, standby) for standby in state.followers]
    if flows and not context.owns_flow(flows[0]):
        said = f"what {state.active} holds is audited for {flows[0].group}, which has the flows from there"
        return WatchResult(group, "left_alone", (said,))
    if len(flows) == 1:
        return flows[0]
    waiting = [waits_for_its_flow(state, flow.target) for flow in flows if flow.target not in state.roles.copies]
    if not (flows := [flow for flow in flows if flow.target in state.roles.copies]):
        return waiting[0]
    answers = context.each_cluster(lambda cluster: clients.register(cluster).read(group))
    answering = [flow for flow in flows if not isinstance(answers[flow.target], KafkaDrError)]
    return min(answering or flows, key=lambda flow: _audited_at(flow, clients, kind))


def _audited_at(flow: Flow, clients: Clients, kind: AuditKind) -> float:
    """Return when a flow was audited last, in seconds; 0 if never, or if that cannot be read."""
    store = ResultStore(clients.evidence_root)
    try:
        found = store.newest(kind, group=flow.group, source=flow.source, target=flow.target)
    except (ResultUnreadable, OSError):
        return 0.0
    return found.at.timestamp() if found else 0.0


def flow_began(history: Mapping[str, Mapping[str, Any]], state: RegisterState | None, flow: Flow) -> tuple[int, bool]:
    """Return the epoch whose seed started a flow, and whether the flow was adopted with the offsets that it had.

    Audits carry that epoch, not the register record's: a roll back raises the record's epoch and keeps the flow.
    """
    if state is None:
        return 0, False
    seed = newest_seed(history, state, flow.target)
    if seed is None or (seed.source, seed.target) != (flow.source, flow.target):
        return state.epoch, False
    return seed.epoch, seed.keeps_offsets


def newest_audit(run: Run, kind: AuditKind, of_other: tuple[Flow, RegisterState | None] | None = None) -> GateVerdict:
    """Return what the newest audit of the run's flow says, judged by the group's limits.

    :param of_other: a flow of another group instead, and the record of that
    """
    flow, state = of_other or (run.flow, run.register_state)
    verdict = audit_of(flow, state, run.history_of_flows(flow.source), run.clients, kind, run.group.audits)
    return _with_one_that_did_not_end(run, kind, verdict, flow.group)


def audit_of(
    flow: Flow,
    state: RegisterState | None,
    history: Mapping[str, Mapping[str, Any]],
    clients: Clients,
    kind: AuditKind,
    limits: AuditsSpec,
) -> GateVerdict:
    """Return what the newest audit of a flow says.

    :param state: the record of its group
    :param history: everything journaled about the group, by run and fact
    """
    epoch, unseeded = flow_began(history, state, flow)
    verdict = gate.ask(
        clients.evidence_root,
        kind,
        group=flow.group,
        source=flow.source,
        target=flow.target,
        epoch=epoch,
        unseeded=unseeded,
        now=clients.clock.now(),
        max_age=timedelta(
            seconds=limits.lag_max_age_seconds if kind is AuditKind.LAG else limits.checksum_max_age_seconds
        ),
    )
    return unless_changed(verdict, history, flow, kind)


def _with_one_that_did_not_end(run: Run, kind: AuditKind, verdict: GateVerdict, group: str) -> GateVerdict:
    """Say of a missing or outdated audit why the last one did not end, if one was begun since.

    :param verdict: by what audits have filed; one that did not end files nothing
    """
    if verdict.answer not in _EXCUSED:
        return verdict
    store = WatchResultStore(run.clients.evidence_root)
    kept = read_watch_status(group, _WATCHES[kind], store, run.clock.now()).result
    if kept is None or kept.outcome != "unknown" or (verdict.result and kept.looked_at <= verdict.result.at):
        return verdict
    why = kept.sentences[0] if kept.sentences else f"read the log of dr_{kind}_audit"
    at = f"{kept.looked_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return replace(verdict, sentence=f"the last {kind} audit, of {at}, did not end: {why}. {verdict.sentence}")


def newest_checksum_audit(run: Run) -> GateVerdict:
    """Return what the newest checksum audit of the run's flow says."""
    return newest_audit(run, AuditKind.CHECKSUM)


def green(verdict: GateVerdict, kind: AuditKind = AuditKind.CHECKSUM) -> Check:
    """Return whether an audit is green and fresh."""
    return Check(f"{kind}_audit", _OUTCOMES[verdict.answer], verdict.sentence)


def by_policy(verdict: GateVerdict, kind: AuditKind, audits: AuditsSpec, *, taken_over: bool = False) -> Check:
    """Return whether an audit lets a failover begin; what only the group's policy lets pass is shown as unknown.

    :param taken_over: whether the flow copied records before the group was adopted: only an audit has compared those
    """
    unseen = taken_over and (kind, verdict.answer) == (AuditKind.CHECKSUM, GateAnswer.NEVER)
    if verdict.answer in _EXCUSED and audits.before_failover == "not_red" and not unseen:
        allowed = "unknown but allowed by policy (audits.before_failover is not_red)"
        return Check(f"{kind}_audit", "excused", f"{allowed}: {verdict.sentence}")
    return green(verdict, kind)


def audit_check(kind: AuditKind, run: Run) -> Check:
    """Return whether the newest audit of a kind lets a failover begin."""
    if not run.declared.closes(run.source):
        return Check(f"{kind}_audit", "ok", f"this run needs no copy of what {run.source} holds")
    _, taken_over = flow_began(run.history, run.register_state, run.flow)
    return by_policy(newest_audit(run, kind), kind, run.group.audits, taken_over=taken_over)
