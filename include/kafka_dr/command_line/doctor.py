"""``doctor``: everything that can be wrong with a set-up, with the commands that correct it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import typer

from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.kafka_tools import add_allows
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    TopologyFile,
    opened,
)
from kafka_dr.command_line.rights_formats import ADMIN_FILE
from kafka_dr.doctor import SetUpFinding, examine
from kafka_dr.outcomes import Outcome
from kafka_dr.quoting import block
from kafka_dr.topology.model import Topology

_CODES: dict[Outcome, ExitCode] = {"ok": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}
_WORDS: dict[Outcome, str] = {"failed": "WRONG", "unknown": "UNKNOWN", "ok": "ok"}


@with_exit_codes
def doctor(
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Examine a set-up: logins, principals, rights, flows, evidence; say what is wrong and what corrects it.

    Nothing is changed on any cluster. One file is written to the evidence, read and removed.
    """
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        found, declared = examine(clients), clients.topology
    rows = [
        {"about": each.about, "name": each.name, "outcome": each.outcome, "detail": each.detail}
        | {"commands": list(_commands(declared, [each]))}
        for each in found
    ]
    typer.echo(json.dumps({"findings": rows}, indent=1) if as_json else block("\n".join(_page(declared, found))))
    outcomes = {each.outcome for each in found}
    raise typer.Exit(_CODES[next(each for each in _WORDS if each in outcomes)])


def _page(topology: Topology, found: Sequence[SetUpFinding]) -> Iterator[str]:
    """First what a person has to do, then how much is good."""
    bad = [each for each in found if each.outcome != "ok"]
    for outcome in ("failed", "unknown"):
        yield from (f"{_WORDS[outcome]}  {each.about}: {each.detail}" for each in bad if each.outcome == outcome)
    commands = list(_commands(topology, bad))
    if commands:
        yield "These commands grant what is missing:"
        yield from commands
    yield f"{len(found) - len(bad)} of {len(found)} questions have a good answer"


def _commands(topology: Topology, found: Sequence[SetUpFinding]) -> Iterator[str]:
    for cluster in dict.fromkeys(each.about for each in found if each.missing):
        access = ToolAccess(cluster, topology.cluster(cluster).route_bootstrap_servers, ADMIN_FILE)
        missing = frozenset().union(*(each.missing for each in found if each.about == cluster))
        yield from add_allows(access, missing)
