"""Flows against the register: one that copies where the record forbids it is stopped, whoever started it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from kafka_dr.errors import KafkaDrError
from kafka_dr.health.concerned_standbys import STANDBY
from kafka_dr.health.registers import RegisterAnswers, guard_by_answering
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus, Replicator, not_running
from kafka_dr.runs import background
from kafka_dr.runs.flows_of_standby import may_run, must_run
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import AsksFor, RegisterGuard
from kafka_dr.runs.uncopyable_records import why_it_stops

#: Who runs a flow answers in milliseconds; next to a dead cluster it may need a minute, which nobody waits for here.
FLOW_SECONDS = 8.0
#: How long a flow that was asked to stop is watched.
_STOP_SECONDS = 5.0


def check_flows(context: GroupContext, state: RegisterState, registers: RegisterAnswers) -> tuple[Check, ...]:
    """Check the flows of both directions, stop those that must not run, and name each that is wrong."""
    flows = context.own_flows(permutations(context.group.clusters, 2))

    def checking(flow: Flow) -> Callable[[], Check]:
        return lambda: _check(context, flow, state, registers)

    answers = background.answers_within({flow: checking(flow) for flow in flows}, seconds=FLOW_SECONDS)
    return tuple(_check_of(flow, answer) for flow, answer in answers.items())


def _check(context: GroupContext, flow: Flow, state: RegisterState, registers: RegisterAnswers) -> Check:
    replicator = context.clients.replicator(flow)
    status, both = replicator.status(), context.declared.renames_copies
    if not may_run(state, flow, both_ways=both) and not status.at_rest:
        stopped = AsksFor(lambda now: not may_run(now, flow, both_ways=both), f"{flow.name} to be stopped")
        return _stop(replicator, status, guard_by_answering(context, registers, stopped))
    if must_run(state, flow, both_ways=both) and status.state != "running":
        said = why_it_stops(context, flow, status)
        why = ". ".join(filter(None, (said, not_running(replicator, status))))
        return Check("flow", "failed", why, {STANDBY: flow.target})
    return Check("flow", "ok", f"{flow.name} is {status}")


def _stop(replicator: Replicator, status: FlowStatus, guard: RegisterGuard) -> Check:
    flow = replicator.flow
    found = f"{flow.name} was {status}, but the register forbids this direction"
    guard.require()
    replicator.stop()
    try:
        now = replicator.wait_stopped(_STOP_SECONDS).state
    except KafkaDrError as error:
        return Check("flow", "failed", f"{found}: it was asked to stop and has not stopped yet ({error})")
    return Check("flow", "failed", f"{found}: it is {now} now; check what it copied to {flow.target}")


def _check_of(flow: Flow, answer: Check | KafkaDrError) -> Check:
    if isinstance(answer, Check):
        return answer
    said = f"the status of {flow.name} could not be read: {answer}"
    return Check("flow", "unknown", said, {STANDBY: flow.target})
