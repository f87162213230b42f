"""The way back of an unplanned drill: the failback's own steps, its list of stranded records, its audit of the copy."""

from __future__ import annotations

from functools import partial

from kafka_dr.drill.copy_jobs import CopyJobs, audit_copy, list_stranded
from kafka_dr.drill.course import Course, Moved, move
from kafka_dr.errors import Refused
from kafka_dr.health.health_check import check_health
from kafka_dr.named_rows import positions_from_json
from kafka_dr.positions import TopicPartition
from kafka_dr.register import Phase, RegisterState
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from kafka_dr.waiting import wait_until

#: How long the readers may take until they have read past the failover in every partition, in seconds.
_PAST_SECONDS = 60.0


def fence_on_return(course: Course) -> RegisterState:
    """Let the check of every minute fence the old cluster, which answers again, and return the register's record.

    :raises Refused: it is not fenced
    """
    drill = course.drill
    course.say(f"{drill.active} is back: {check_health(drill.name, course.own).summary}")
    state = GroupContext(drill.name, course.own).read_register_state()
    if state is None or state.phase is not Phase.DIVERGED:
        seen = "no record" if state is None else state.phase
        raise Refused(f"{drill.active} is back and not fenced: the register says {seen}, expected diverged")
    return state


def go_back(course: Course, failover: Moved, jobs: CopyJobs) -> Moved:
    """Make the old cluster a copy again, by the steps of a failback in the mode quarantine, while the load continues.

    :param failover: the drill's unplanned failover
    :raises KafkaDrError: a step did not succeed, or the copy is not equal
    """
    drill = course.drill
    flow = Flow(drill.name, drill.standby, drill.active)
    list_stranded(drill.name, jobs, course.say)
    _wait_past_failover(course, failover)
    request = course.request("failback", "failback", flow.source, flow.target)
    with course.own.among(course.own.topology, evidence_root=course.own.evidence_root) as clients:
        audit = partial(audit_copy, flow, clients, jobs, request.run, course.say)
        return move(request, clients, course.approver, course.say, before={StepName.SETTLE: audit})


def _wait_past_failover(course: Course, failover: Moved) -> None:
    """Wait until the readers have committed past what was copied: before that no quarantine is permitted.

    What is not past it after this is named by the preflight.
    """
    drill, own = course.drill, course.own
    ends = own.register(drill.standby).facts(drill.name, failover.request.run)["target_ends"]["ends"]
    wanted = {p: end for p, end in positions_from_json(ends).items() if p.topic in drill.topics}
    groups = own.cluster(drill.standby, "operator").groups

    def behind() -> list[TopicPartition]:
        committed = groups.offsets([drill.readers], require_stable=False)[drill.readers]
        return [p for p, end in wanted.items() if committed.get(p, -1) < end]

    wait_until(behind, lambda left: not left, clock=own.clock, seconds=_PAST_SECONDS)
