"""``status``: what the registers, the route and the flows say, and what to do next."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from kafka_dr import parallel
from kafka_dr.command_line import by_hand_page, status_page
from kafka_dr.command_line.by_hand import procedures
from kafka_dr.command_line.by_hand_facts import gather
from kafka_dr.command_line.by_hand_files import on_paper, write_client_files, write_private
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.group_judgement import known_now
from kafka_dr.command_line.group_status import GroupStatus, status_of
from kafka_dr.command_line.opened import AsJson, CommandFiles, ConnectionsFile, TopologyFile, opened
from kafka_dr.evidence.standby_lines import standby_lines
from kafka_dr.outcomes import Outcome
from kafka_dr.runs.clients import Clients
from kafka_dr.situations.group_now import GroupNow

#: How many groups are asked about at the same time.
_AT_ONCE = 8
_CODES: dict[Outcome, ExitCode] = {"ok": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}


@with_exit_codes
def status(
    groups: Annotated[list[str] | None, typer.Option("--group", help="a protection group; all without it")] = None,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    as_json: AsJson = False,
    by_hand: Annotated[
        bool, typer.Option("--by-hand", help="print the commands of Kafka's own tools for one group and its state")
    ] = False,
    files: Annotated[
        Path | None,
        typer.Option(
            "--files",
            help="with --by-hand: write what the commands read into this folder; client settings hold passwords",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show where each group is active, what holds it, and what to do next. Changes nothing.

    The exit code is about what registers, route and flows answer now. What the page begins with also counts what the
    scheduled checks have found: it is UNKNOWN where none run.

    With --by-hand it prints how a group is moved, rolled back or opened with kafka-acls, kafka-consumer-groups and
    curl, when no program of this project runs. Print it in time: the commands fit the state of that minute.
    """
    if files is not None and not by_hand:
        raise typer.BadParameter("--files belongs to --by-hand")
    with opened(CommandFiles(topology, connections)) as clients:
        if by_hand:
            _print_by_hand(groups or [], clients, files, as_json=as_json)
            return
        names = groups or sorted(clients.topology.protection_groups)
        found = tuple(parallel.ask_all(lambda name: status_of(name, clients), names, at_most=_AT_ONCE).values())
        now = clients.clock.now()
        known = {each.group: known_now(each, clients.evidence_root, now) for each in found}
    if as_json:
        rows = [each.as_json() | _of_page(known[each.group], now) for each in found]
        typer.echo(json.dumps({"groups": rows}, indent=1))
    else:
        status_page.show(found, known, now, Console())
    raise typer.Exit(_CODES[_worst(found)])


def _of_page(known: GroupNow, now: datetime) -> dict[str, Any]:
    """Return what the status page says of a group."""
    lines = standby_lines(known, now)
    return {
        "situation": known.judgement.as_json(),
        **({"standbys": [asdict(each) for each in lines]} if lines else {}),
    }


def _print_by_hand(groups: list[str], clients: Clients, folder: Path | None, *, as_json: bool) -> None:
    if len(groups) != 1:
        raise typer.BadParameter("--by-hand is about one group: name it with --group")
    facts, now = gather(groups[0], clients), clients.clock.now()
    found = procedures(facts, now)
    if folder is not None:
        write_client_files(clients, facts.group, folder)
        for procedure in found:
            for step in procedure.steps:
                write_private(folder, step.files)
    if as_json:
        typer.echo(json.dumps(by_hand_page.as_json(facts, found), indent=1))
        return
    named = str(folder.absolute()) if folder is not None else ""
    client_files = {} if folder is not None else on_paper(clients, facts.group)
    typer.echo(by_hand_page.text(facts, found, now, folder=named, client_files=client_files))


def _worst(found: tuple[GroupStatus, ...]) -> Outcome:
    outcomes = {each.outcome for each in found}
    if "failed" in outcomes:
        return "failed"
    return "unknown" if "unknown" in outcomes else "ok"
