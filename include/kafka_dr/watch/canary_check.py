"""Canaries of a group: sent only while the register says that it stands still, and in the direction that it says."""

from __future__ import annotations

from datetime import timedelta

from kafka_dr.canary import CanaryFlow, Verdict
from kafka_dr.canary.probe import CanaryReport, run_canary
from kafka_dr.group_offsets import last_look
from kafka_dr.offsets import LastLook
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchOutcome, WatchResult, at_rest
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext

_OUTCOMES: dict[Verdict, WatchOutcome] = {Verdict.ON_TIME: "ok", Verdict.UNKNOWN: "unknown"}


def watch_canary(group: str, clients: Clients) -> WatchResult:
    """Send a canary through each partition of the group's flow, and judge how these and earlier ones arrive.

    And look at the active cluster, so that a disaster of the next minute finds what nobody can ask then.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    :raises ClusterUnreachable: a side does not answer
    """
    context = GroupContext(group, clients)
    state = at_rest(group, context.read_register_state())
    if isinstance(state, WatchResult):
        return state
    report = _send(context, state)
    seen = last_look.look(context, active=state.active, standby=state.standby, epoch=state.epoch)
    if context.read_register_state() != state:
        return WatchResult(
            group, "left_alone", ("it began to move while the canary was on its way, so it is not judged",)
        )
    return WatchResult(group, _OUTCOMES.get(report.verdict.verdict, "failed"), (*_sentences(report), _remembered(seen)))


def _send(context: GroupContext, state: RegisterState) -> CanaryReport:
    clients = context.clients
    return run_canary(
        CanaryFlow(state.group, state.active, state.standby, state.epoch),
        topic=context.group.canary_topic,
        publisher=clients.cluster(state.active, "probe"),
        source=clients.cluster(state.active, "audit"),
        target=clients.cluster(state.standby, "audit"),
        clock=clients.clock,
        late_after=timedelta(seconds=context.group.thresholds.canary_late_seconds),
    )


def _remembered(seen: LastLook) -> str:
    waiting = sum(map(len, seen.waiting.values()))
    return f"remembered for a disaster: positions of {len(seen.groups)} groups, {waiting} records not copied yet"


def _sentences(report: CanaryReport) -> tuple[str, ...]:
    flow, rpo = report.flow, report.verdict.rpo_seconds
    took = f", the slowest in {report.seconds:g} s" if report.seconds is not None else ""
    known = "the RPO is not known" if rpo is None else f"the RPO is {rpo:g} s"
    return (
        f"{flow.source} → {flow.target}: {report.arrived} of {report.sent} canaries arrived{took}",
        str(report.verdict),
        known,
    )
