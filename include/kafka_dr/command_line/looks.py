"""``flows`` and ``health``: what ``dr_flows`` and ``dr_health`` do on schedule, once, where no Airflow runs."""

from __future__ import annotations

import json

import typer

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
from kafka_dr.health.health_check import check_health
from kafka_dr.quoting import block
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.watch.reconcile_flows import reconcile_flows
from kafka_dr.watch_results import WatchOutcome

_CODES: dict[WatchOutcome, ExitCode] = {
    "ok": ExitCode.GOOD,
    "warning": ExitCode.GOOD,
    "failed": ExitCode.BAD,
    "unknown": ExitCode.UNKNOWN,
    "left_alone": ExitCode.REFUSED,
}


@with_exit_codes
def flows(
    group: GroupName,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make the flows of a group match the register, once: create, start, correct or stop them.

    It says whether the flow makes progress. After an adoption it starts the first flow. A group that a run holds, or
    that is not adopted, is left alone.
    """
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        found = reconcile_flows(group, clients)
    _show(found, as_json=as_json)


@with_exit_codes
def health(
    group: GroupName,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Look at the clusters of a group once, and add what a fence lacks.

    It names everything that does not match the register, and fences an old cluster that returned.
    """
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        found = check_health(group, clients)
    _show(found, as_json=as_json)


def _show(found: WatchResult, *, as_json: bool) -> None:
    answer = {"group": found.group, "outcome": found.outcome, "sentences": list(found.sentences)}
    typer.echo(json.dumps(answer, indent=1) if as_json else block("\n".join(found.sentences)))
    raise typer.Exit(_CODES[found.outcome])
