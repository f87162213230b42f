"""Canaries of a group that no run holds: sent to its active cluster, and judged on each standby."""

from __future__ import annotations

from datetime import timedelta

from kafka_dr.canary.probe import CanaryReport, run_canary
from kafka_dr.canary.record import CanaryFlow
from kafka_dr.canary.verdict import CanaryOutcome
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import last_look
from kafka_dr.group_offsets.last_look import LastLook
from kafka_dr.register import RegisterState
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import not_running
from kafka_dr.runs.at_rest import WatchResult, at_rest, of_each_standby
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.watch.copied_topics import with_same_topics
from kafka_dr.watch_results import FLOW, WatchOutcome

_OUTCOMES: dict[CanaryOutcome, WatchOutcome] = {CanaryOutcome.ON_TIME: "ok", CanaryOutcome.UNKNOWN: "unknown"}

#: How many partitions a sentence names.
_SHOWN = 3


def watch_canary(group: str, clients: Clients) -> WatchResult:
    """Send a canary to each partition of the canary topic, and judge how these and earlier ones were replicated.

    Also records the last look at the active cluster: an unplanned failover needs it when that cluster is down.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    :raises ClusterUnreachable: one of the clusters of a pair does not answer
    """
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state
    # Both send canaries through the same topic, and number them by what they find there.
    return of_each_standby(state, lambda standby: _looked(context, state, standby), one_by_one=True, copies_alone=True)


def _looked(context: GroupContext, state: RegisterState, standby: str) -> WatchResult:
    group, report = state.group, _send(context, state, standby)
    rpo = report.verdict.rpo_seconds
    lag = None if rpo is None else max(rpo, report.seconds or 0.0)
    seen = last_look.look(context, active=state.active, standby=standby, epoch=state.epoch, copy_lag_seconds=lag)
    if context.read_register_state() != state:
        return WatchResult(
            group, "left_alone", ("a run began to move it after the canary was sent, so the canary is not judged",)
        )
    found = canary_result(group, report)
    why = () if found.outcome == "ok" else _of_the_flow(context, context.flow_between(state.active, standby))
    result = WatchResult(group, found.outcome, (*why, *found.sentences, _last_look(seen)), found.facts)
    return with_same_topics(context, state, standby, result)


def canary_result(group: str, report: CanaryReport) -> WatchResult:
    """Return what a look at canaries says.

    :param group: the protection group or the observed flow
    """
    facts = {
        "verdict": report.verdict.verdict.value,
        "rpo_seconds": report.verdict.rpo_seconds,
        "seconds": report.seconds,
        "sent": report.sent,
        "arrived": report.arrived,
        FLOW: f"{report.flow.source}-to-{report.flow.target}",
    }
    return WatchResult(group, _OUTCOMES.get(report.verdict.verdict, "failed"), _sentences(report), facts)


def _of_the_flow(context: GroupContext, flow: Flow) -> tuple[str, ...]:
    """Say what a person can do first about canaries that do not arrive as they should."""
    try:
        replicator = context.clients.replicator(flow)
        status = replicator.status()
    except KafkaDrError as error:
        return (f"the status of {flow.name} could not be read: {error}",)
    return () if status.state == "running" else (not_running(replicator, status),)


def _send(context: GroupContext, state: RegisterState, standby: str) -> CanaryReport:
    clients = context.clients
    return run_canary(
        CanaryFlow(state.group, state.active, standby, state.epoch),
        topic=context.group.canary_topic,
        publisher=clients.cluster(state.active, "probe"),
        source=clients.cluster(state.active, "audit"),
        target=context.copies_by(context.flow_between(state.active, standby), "audit"),
        clock=clients.clock,
        late_after=timedelta(seconds=context.group.thresholds.canary_late_seconds),
    )


def _last_look(seen: LastLook) -> str:
    waiting, said = seen.not_copied, f"last look recorded: committed offsets of {counted(len(seen.groups), 'group')}"
    held = f"; {words}" if (words := seen.held_in_words()) else ""
    if not seen.uncounted:
        return f"{said}, {counted(waiting, 'record')} not copied yet{held}"
    found = sorted(seen.uncounted)
    shown = f"{', '.join(map(str, found[:_SHOWN]))}{' …' if len(found) > _SHOWN else ''}"
    known = (
        f"at least {counted(waiting, 'record')} not copied yet"
        if waiting
        else "how many records are not copied is not known"
    )
    return (
        f"{said}; {known}: in {len(found)} of {len(seen.ends)} partitions ({shown}) the flow has no offset, or "
        f"too many records wait to be counted: see dr_flows and dr_lag_audit{held}"
    )


def _sentences(report: CanaryReport) -> tuple[str, ...]:
    flow, rpo = report.flow, report.verdict.rpo_seconds
    took = f", the slowest in {duration(report.seconds)}" if report.seconds is not None else ""
    known = "the RPO is not known" if rpo is None else f"the RPO is {duration(rpo)}"
    return (
        f"{flow.source} → {flow.target}: {report.arrived} of {report.sent} canaries arrived{took}",
        str(report.verdict),
        known,
    )
