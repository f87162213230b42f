"""``doctor``: everything that can be wrong with a set-up, with the commands that correct it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from kafka_dr.clusters.model import AclPermission
from kafka_dr.clusters.tool_access import ADMIN_FILE, ToolAccess
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.kafka_tools import add_allows, add_denies, remove_allows
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    TopologyFile,
    opened,
)
from kafka_dr.doctor import SetUpFinding, examine
from kafka_dr.outcomes import Outcome
from kafka_dr.quoting import block
from kafka_dr.topology.model import Topology

_CODES: dict[Outcome, ExitCode] = {"ok": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}
_WORDS: dict[Outcome, str] = {"failed": "WRONG", "unknown": "UNKNOWN", "ok": "ok"}


class Without(StrEnum):
    """What a company may do without, or has elsewhere."""

    AIRFLOW = "airflow"
    SPARK = "spark"


@with_exit_codes
def doctor(
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    without: Annotated[
        list[Without] | None, typer.Option("--without", help="do not ask this: you do without it, or not from here")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Examine a set-up: clusters, rights, flows, evidence, routes, vantages, Airflow, Spark; say what corrects it.

    Nothing is changed on any cluster or in Airflow. One file is written to the evidence, read and removed, and one next
    to each route. Airflow is asked by its REST API, and Spark by a job of a second.
    """
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        found, declared = examine(clients, without=[each.value for each in without or ()]), clients.topology
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
        yield "These commands correct it, or show what is to be corrected:"
        yield from commands
    yield f"{len(found) - len(bad)} of {len(found)} questions have a good answer"


def _commands(topology: Topology, found: Sequence[SetUpFinding]) -> Iterator[str]:
    for cluster in dict.fromkeys(each.about for each in found if each.missing or each.excess):
        access = ToolAccess(cluster, topology.cluster(cluster).route_bootstrap_servers, ADMIN_FILE)
        here = [each for each in found if each.about == cluster]
        missing = frozenset().union(*(each.missing for each in here))
        denies = {acl for acl in missing if acl.permission is AclPermission.DENY}
        yield from add_allows(access, missing - denies)
        yield from add_denies(access, denies)
        yield from remove_allows(access, frozenset().union(*(each.excess for each in here)))
    yield from dict.fromkeys(command for each in found for command in each.commands)
