"""``observe``: what a failover by somebody else's replication would cost. Reads both clusters, changes neither."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    TopologyFile,
    ended,
    evidence_root,
    plain_errors,
)
from kafka_dr.command_line.status_page import plain
from kafka_dr.connections.port import Connections
from kafka_dr.connections.sources import ConnectionSource
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_observation
from kafka_dr.observation import FlowObservation, KeptAudits, kept_audits, look_at
from kafka_dr.topology.model import Topology
from kafka_dr.topology.observed import ObservedFlowSpec

_CODES = {"ok": ExitCode.GOOD, "warning": ExitCode.GOOD, "failed": ExitCode.BAD, "unknown": ExitCode.UNKNOWN}
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "unknown": "bold yellow"}
#: The columns of the table of groups, with their keys in the report.
_COLUMNS = {
    "group": "group",
    "kind": "kind",
    "verdict": "verdict",
    "again": "delivered again",
    "skipped": "unread, skipped",
    "partitions_without_position": "partitions without a position",
}


@with_exit_codes
def observe(
    flow: Annotated[str, typer.Argument(help="the flow, by its name in observed_flows")],
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="write the whole report into this file, one HTML page", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare an observed flow's copy with its source, and say what a failover by it would cost now.

    Reads topics, offsets, groups, checkpoints and settings on both clusters, with the connections of the flow, and
    changes nothing. What may not be read is named, and unknown.
    """
    try:
        known = CommandFiles(topology, connections).read_topology()
        declared = known.observed_flow(flow)
        known_connections = Connections.stored(ConnectionSource.read(os.environ, connections).get)
    except KafkaDrError as error:
        raise ended(error, ExitCode.MISUSED) from None
    with plain_errors():
        found = _look(declared, known_connections, _kept(known, declared))
    answer = found.to_json()
    if report is not None:
        report.write_text(render_observation(build_observation_view(answer)), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(answer, indent=1))
    else:
        _show(found, answer, Console())
    raise typer.Exit(_CODES[found.verdict])


def _kept(topology: Topology, flow: ObservedFlowSpec) -> KeptAudits:
    """Return what audits have found; who declares none needs no client of an object store for the evidence."""
    if flow.watches == ("observation",):
        return KeptAudits()
    return kept_audits(evidence_root(topology.evidence.root, None), flow)


def _look(flow: ObservedFlowSpec, connections: Connections, kept: KeptAudits) -> FlowObservation:
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(KafkaCluster(end.name, connections.kafka(end.connection)))
            for end in (flow.source, flow.target)
        )
        return look_at(flow, source, target, SystemClock(), kept)


def _show(found: FlowObservation, answer: Mapping[str, object], console: Console) -> None:
    console.print(plain(f"{found.flow}: {found.verdict}", _STYLES[found.verdict]))
    console.print(plain(found.sentence))
    for each in found.not_looked_at:
        console.print(plain(f"not looked at: {each}", "yellow"))
    for row in found.audits:
        said = f"{row['audit']}: {row['verdict']}" + (f", {row['at']}" if row["at"] else "")
        console.print(plain(f"{said}: {row['said']}", _STYLES[row["verdict"]]))
    groups = answer["groups"]
    if isinstance(groups, list) and groups:
        table = Table(*_COLUMNS.values())
        for row in groups:
            table.add_row(*(plain("unknown" if row[key] is None else row[key]) for key in _COLUMNS))
        console.print(table)
    for reader in found.readers:
        console.print(plain(reader.sentence, "" if reader.best == "ok" else "yellow"))
