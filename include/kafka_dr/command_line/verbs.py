"""``failover`` and ``failback``: whole runs without Airflow."""

from __future__ import annotations

from typing import Annotated

import typer

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
from kafka_dr.runs.request import RunRequest


@with_exit_codes
def failover(
    kind: Annotated[
        asked.FailoverKind,
        typer.Argument(help="planned: both clusters are healthy; unplanned: the active cluster is down"),
    ],
    group: GroupName,
    reason: asked.Reason,
    source: asked.Source = None,
    target: asked.Target = None,
    override: asked.Override = "",
    acknowledged: asked.Acknowledged = False,
    begin_at: asked.BeginAt = None,
    begin_positions: asked.WhichBegin = "unknown",
    key: KeyFile = None,
    break_glass: BreakGlass = False,
    by: By = None,
    yes: Yes = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Move a group to its standby: the same steps, proofs and evidence as in Airflow.

    The question is shown in full. With --key you answer it; without, the command waits for ``approve`` in another
    terminal. A step that fails before the point of no return is rolled back.
    """
    answering = answering_of(key, by, break_glass=break_glass, yes=yes)
    files = CommandFiles(topology, connections, evidence)
    with opened(files, people_of=answering.people) as clients:
        run = asked.new_run(clients.clock.now())
        request = asked.failover_request(
            group,
            run,
            kind,
            source=source,
            target=target,
            reason=reason,
            override=override,
            acknowledged=acknowledged,
            begin_at=begin_at,
            begin_positions=begin_positions,
        )
        raise approved_run(request, clients, answering, as_json=as_json)


@with_exit_codes
def failback(
    group: GroupName,
    reason: asked.Reason,
    cluster: asked.Returned = None,
    mode: asked.Mode = "quarantine",
    rescue: asked.Rescue = "keep",
    late: asked.Late = "declared",
    key: KeyFile = None,
    break_glass: BreakGlass = False,
    by: By = None,
    yes: Yes = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make the old cluster a copy again after an unplanned failover.

    Two parts of it run on Spark, before this command and before its step settle: spark-submit
    spark/jobs/stranded_records.py, and spark/jobs/checksum_audit.py with --full. Their first lines say how. Without
    the list the command is refused, and without the audit it stops at settle: record it with record-audit, then run
    resume.
    """
    answering = answering_of(key, by, break_glass=break_glass, yes=yes)
    files = CommandFiles(topology, connections, evidence)
    with opened(files, people_of=answering.people) as clients:
        run = asked.new_run(clients.clock.now())
        request = RunRequest(
            group, run, target=cluster, reason=reason, verb="failback", mode=mode, rescue=rescue, late=late
        )
        raise approved_run(request, clients, answering, as_json=as_json)
