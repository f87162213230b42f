"""``status``: what the registers, the route and the flows say, and what to do next."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from kafka_dr import parallel
from kafka_dr.command_line import status_page
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.group_status import GroupStatus, status_of
from kafka_dr.command_line.opened import AsJson, CommandFiles, ConnectionsFile, TopologyFile, opened
from kafka_dr.outcomes import Outcome

#: How many groups are asked about at the same time.
_AT_ONCE = 8
_CODES: dict[Outcome, ExitCode] = {"ok": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}


@with_exit_codes
def status(
    groups: Annotated[list[str] | None, typer.Option("--group", help="a protection group; all without it")] = None,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show where each group is active, what holds it, and what to do next. Changes nothing."""
    with opened(CommandFiles(topology, connections)) as clients:
        names = groups or sorted(clients.topology.protection_groups)
        found = tuple(parallel.ask_all(lambda name: status_of(name, clients), names, at_most=_AT_ONCE).values())
    if as_json:
        typer.echo(json.dumps({"groups": [each.as_json() for each in found]}, indent=1))
    else:
        status_page.show(found, Console())
    raise typer.Exit(_CODES[_worst(found)])


def _worst(found: tuple[GroupStatus, ...]) -> Outcome:
    outcomes = {each.outcome for each in found}
    if "failed" in outcomes:
        return "failed"
    return "unknown" if "unknown" in outcomes else "ok"
