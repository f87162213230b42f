"""``adopt`` and ``un-adopt``: a group comes under the DR register, and leaves it, without Airflow."""

from __future__ import annotations

from kafka_dr.adoption.adopt import adopt as adopt_group
from kafka_dr.adoption.way import way_of, with_canary_topic
from kafka_dr.command_line import asked
from kafka_dr.command_line.approved_run import BreakGlass, By, Yes, answering_of, approved_run
from kafka_dr.command_line.exit_codes import with_exit_codes
from kafka_dr.command_line.keys import KeyFile
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    GroupName,
    TopologyFile,
    opened,
)
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.errors import Refused
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import RunRequest


@with_exit_codes
def adopt(
    group: GroupName,
    reason: asked.Reason = "",
    key: KeyFile = None,
    break_glass: BreakGlass = False,
    by: By = None,
    yes: Yes = False,
    create_canary_topic: asked.CreateCanary = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put a group under the DR register, and take over the replication that it has already.

    Without existing_replication in the topology nobody is asked. With it, an audit on Spark comes first: spark-submit
    spark/jobs/checksum_audit.py with --flow GROUP.ACTIVE-to-STANDBY and --full, and --out as the refusal says. That
    refusal also names what else is in the way, so try it before the audit. Then the question is shown with the faults
    of the copy. What fails is given back: the existing replication runs as before.
    """
    answering = answering_of(key, by, break_glass=break_glass, yes=yes)
    with opened(CommandFiles(topology, connections, evidence), people_of=answering.people) as clients:
        run = asked.new_run(clients.clock.now())
        if way_of(group, clients) == "take_over":
            request = RunRequest(group, run, reason=reason, verb="take_over")
            found = with_canary_topic(request, clients, create=create_canary_topic)
            if not found.passes:
                raise Refused(found.detail)
            raise approved_run(request, clients, answering, as_json=as_json)
        page = StepPage(group, run, as_json)
        try:
            record = adopt_group(group, clients, run, create_canary_topic=create_canary_topic)
        except StepFailed as failure:
            page.show(failure.record)
            raise page.end(
                f"{group} is not adopted, or not completely: see the lines above; then adopt again"
            ) from None
        page.show(record)
        raise page.end(record.detail)


@with_exit_codes
def un_adopt(
    group: GroupName,
    reason: asked.Reason,
    hand_back_to: asked.HandBack = "existing",
    cluster: asked.Leaving = None,
    known_off: asked.KnownOff = "",
    key: KeyFile = None,
    break_glass: BreakGlass = False,
    by: By = None,
    yes: Yes = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Release a group: lift every DENY that this project added, and close its register.

    Its topics are copied again by what copied them before it was adopted, or by the flow of this project, which
    nobody looks after then. Nobody can fail over the group until it is adopted again. With --cluster only that standby
    leaves, and the group stays adopted.
    """
    answering = answering_of(key, by, break_glass=break_glass, yes=yes)
    with opened(CommandFiles(topology, connections, evidence), people_of=answering.people) as clients:
        run = asked.new_run(clients.clock.now())
        request = RunRequest(
            group,
            run,
            target=cluster,
            leaves=cluster is not None,
            override=known_off,
            reason=reason,
            verb="un_adopt",
            hand_back_to=hand_back_to,
        )
        raise approved_run(request, clients, answering, as_json=as_json)
