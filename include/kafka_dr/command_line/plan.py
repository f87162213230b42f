"""``plan``: what a verb would do, from the clusters as they are now. Nothing is changed on any of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from kafka_dr.adoption.adopt import adopt
from kafka_dr.adoption.way import way_of, with_canary_topic
from kafka_dr.command_line import asked
from kafka_dr.command_line.approved_run import BreakGlass, By, answering_of
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    GroupName,
    TopologyFile,
    opened,
)
from kafka_dr.command_line.status_page import plain
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.errors import Refused
from kafka_dr.people import Person
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, RunRequest, steps_without_approvals
from kafka_dr.topology.model import Topology
from kafka_dr.verbs.resume_plan import ResumePlan, plan_resume
from kafka_dr.verbs.runner import run_step


class Planned(StrEnum):
    """What can be planned."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"
    FAILBACK = "failback"
    ADOPT = "adopt"
    UN_ADOPT = "un-adopt"
    RESUME = "resume"
    ABANDON = "abandon"


@with_exit_codes
def plan(
    verb: Annotated[Planned, typer.Argument(help="a failover (planned or unplanned), or another verb")],
    group: GroupName,
    source: asked.Source = None,
    target: asked.Target = None,
    reason: asked.Reason = "",
    override: asked.Override = "",
    acknowledged: asked.Acknowledged = False,
    begin_at: asked.BeginAt = None,
    begin_positions: asked.WhichBegin = "unknown",
    cluster: asked.Returned = None,
    mode: asked.Mode = "quarantine",
    rescue: asked.Rescue = "keep",
    late: asked.Late = "declared",
    hand_back_to: asked.HandBack = "existing",
    known_off: asked.KnownOff = "",
    create_canary_topic: asked.CreateCanary = False,
    run: asked.Run = None,
    break_glass: BreakGlass = False,
    by: By = None,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Say what a verb would do, and whether it would be refused. No cluster is changed, and nobody is asked.

    The dry run of a failover, a failback or an adoption is kept with the evidence, like one in Airflow.
    """
    answering = answering_of(None, by, break_glass=break_glass, yes=False)

    def people(declared: Topology, names: Sequence[str], roles: Sequence[str]) -> tuple[Person, ...]:
        # In Airflow whoever is named may answer as well.
        return answering.people(declared, names, roles) or tuple(Person(name, name) for name in names)

    with opened(CommandFiles(topology, connections, evidence), people_of=people) as clients:
        if verb is Planned.RESUME:
            _show_resume(plan_resume(ResumeRequest(group, "finish", run, reason), clients), as_json=as_json)
        if verb is Planned.ABANDON:
            _show_resume(plan_resume(ResumeRequest(group, "abandon", run, reason), clients), as_json=as_json)
        page = StepPage(group, asked.new_run(clients.clock.now()), as_json)
        if verb is Planned.ADOPT:
            request = _adoption(page, reason, clients, create_canary_topic=create_canary_topic)
        elif verb is Planned.UN_ADOPT:
            request = RunRequest(
                group,
                page.run,
                target=cluster,
                leaves=cluster is not None,
                override=known_off,
                dry_run=True,
                reason=reason,
                verb="un_adopt",
                hand_back_to=hand_back_to,
            )
        elif verb is Planned.FAILBACK:
            request = RunRequest(
                group,
                page.run,
                target=cluster,
                dry_run=True,
                reason=reason,
                verb="failback",
                mode=mode,
                rescue=rescue,
                late=late,
            )
        else:
            request = asked.failover_request(
                group,
                page.run,
                asked.FailoverKind(verb.value),
                source=source,
                target=target,
                reason=reason,
                override=override,
                acknowledged=acknowledged,
                begin_at=begin_at,
                begin_positions=begin_positions,
                dry_run=True,
            )
        _dry_run(page, request, clients)


def _dry_run(page: StepPage, request: RunRequest, clients: Clients) -> NoReturn:
    try:
        for step in steps_without_approvals(request.verb):
            page.show(run_step(step, request, clients))
    except StepFailed as failure:
        page.show(failure.record)
        raise page.end("a real run would end here; nothing was changed") from None
    finally:
        clients.shown.over(request.protection_group, request.run)
    raise page.end("a real run may begin; nothing was changed")


def _adoption(page: StepPage, reason: str, clients: Clients, *, create_canary_topic: bool) -> RunRequest:
    """Show what an adoption would do and end, or return the request of a take over."""
    if way_of(page.group, clients) == "take_over":
        request = RunRequest(page.group, page.run, dry_run=True, reason=reason, verb="take_over")
        found = with_canary_topic(request, clients, create=create_canary_topic)
        if not found.passes:
            raise Refused(found.detail)
        return request
    try:
        page.show(adopt(page.group, clients, page.run, dry_run=True, create_canary_topic=create_canary_topic))
    except StepFailed as failure:
        page.show(failure.record)
        raise page.end("the group cannot be adopted; nothing was changed") from None
    raise page.end("nothing was changed")


def _show_resume(found: ResumePlan, *, as_json: bool) -> NoReturn:
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
    else:
        console = Console()
        console.print(plain(found.sentence, "bold" if found.possible else "bold red"), soft_wrap=True)
        for step in found.steps:
            console.print(plain(f"{step.step}: {step.turn}"), soft_wrap=True)
            for sentence in step.intent:
                console.print(plain(f"  would: {sentence}"), soft_wrap=True)
    raise typer.Exit(ExitCode.GOOD if found.possible else ExitCode.REFUSED)
