"""``complete``: up to when a hub holds everything that its spokes had, for a report that Airflow does not schedule."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Annotated

import typer

from kafka_dr.checks.complete_up_to import SpokeOnHub, all_complete, complete_up_to
from kafka_dr.command_line.asked import moment
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    TopologyFile,
    opened,
)
from kafka_dr.quoting import block as shown


@with_exit_codes
def complete(
    block: Annotated[str, typer.Argument(help="the block, by its name in hub_and_spoke or active_active")],
    hub: Annotated[str, typer.Argument(help="the cluster that holds the copies")],
    up_to: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="whether it is complete up to then: 2026-11-29T00:00:00Z", show_default=False
        ),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only this topic, as the spokes call it; may be repeated")
    ] = None,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Say up to when a hub holds everything that each spoke had, by the newest checksum audits.

    With --up-to it ends with 0 only if all spokes are complete up to that time, so a report of that day may run; with 1
    if one of them is not yet, and with 3 if of one of them nothing is known.
    """
    wanted = None if up_to is None else moment(up_to, "--up-to")
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        found = complete_up_to(block, hub, clients, topic or ())
    if as_json:
        typer.echo(json.dumps([_row(each) for each in found], indent=1))
    else:
        typer.echo(shown("\n".join(each.sentence(hub) for each in found)))
    if all_complete(found, wanted) is not None:
        raise typer.Exit(ExitCode.GOOD)
    raise typer.Exit(ExitCode.UNKNOWN if all_complete(found) is None else ExitCode.BAD)


def _row(found: SpokeOnHub) -> dict[str, str | None]:
    at = None if found.at is None else found.at.astimezone(UTC).isoformat()
    return {"spoke": found.spoke, "complete_up_to": at, "why_not_known": found.why or None}
