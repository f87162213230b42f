"""``resume`` and ``abandon``: end a run that died, from the register and its journal alone."""

from __future__ import annotations

from typing import Literal

import typer

from kafka_dr.command_line import asked
from kafka_dr.command_line.exit_codes import with_exit_codes
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
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest
from kafka_dr.verbs import resume as core


@with_exit_codes
def resume(
    group: GroupName,
    reason: asked.NeededReason,
    run: asked.Run = None,
    confirmed: asked.Confirmed = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Finish the run that holds a group, whatever began it: Airflow, or this command line.

    Every step from the claim on runs again and passes what is done. Make sure first that nothing else executes the run.
    """
    with_files = CommandFiles(topology, connections, evidence)
    raise _end(ResumeRequest(group, "finish", run, reason, confirmed=confirmed), with_files, as_json=as_json)


@with_exit_codes
def abandon(
    group: GroupName,
    reason: asked.NeededReason,
    run: asked.Run = None,
    confirmed: asked.Confirmed = False,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Roll back the run that holds a group; refused after its point of no return.

    A failback has no roll back: the group stays diverged, and what was deleted stays deleted.
    """
    with_files = CommandFiles(topology, connections, evidence)
    raise _end(ResumeRequest(group, "abandon", run, reason, confirmed=confirmed), with_files, as_json=as_json)


_WORDS: dict[Literal["finish", "abandon"], str] = {"finish": "resume", "abandon": "abandon"}


def _end(request: ResumeRequest, files: CommandFiles, *, as_json: bool) -> typer.Exit:
    page = StepPage(request.protection_group, request.run or "", as_json)
    with opened(files) as clients:
        try:
            record = core.resume(request, clients, seen=page.show)
        except StepFailed as failure:
            page.run = failure.record.run
            page.show(failure.record)
            again = f"{_WORDS[request.decision]} --group {page.group} --run {page.run}"
            return page.end(f"run {page.run} is not ended: see the line above; then {again} again")
        clients.shown.over(request.protection_group, record.run)
        page.run = record.run
        page.show(record)
        return page.end(record.detail)
