"""``record-audit``: journal an audit that somebody ran by hand, so that failovers and pages believe it."""

from __future__ import annotations

import hmac
import json
from typing import Annotated, Any

import typer

from kafka_dr.audit.proof import proof_digest, report_bytes, report_path
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.checks import recorded_audits
from kafka_dr.command_line.exit_codes import ExitCode, with_exit_codes
from kafka_dr.command_line.opened import CommandFiles, ConnectionsFile, EvidenceFolder, TopologyFile, opened
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.metrics.audit_figures import facts_of, sentences_of
from kafka_dr.quoting import line
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.audited import audited_flow
from kafka_dr.watch_results import KeptResult, WatchOutcome, WatchResultStore

_OUTCOMES: dict[AuditVerdict, WatchOutcome] = {
    AuditVerdict.GREEN: "ok",
    AuditVerdict.WARNING: "warning",
    AuditVerdict.RED: "failed",
    AuditVerdict.UNKNOWN: "unknown",
}


@with_exit_codes
def record_audit(
    flow: Annotated[str, typer.Argument(help="the flow: GROUP.SOURCE-to-TARGET")],
    sha256: Annotated[
        str, typer.Option("--sha256", help="the digest that the audit printed when it ended", show_default=False)
    ],
    audit: Annotated[AuditKind, typer.Option("--audit", help="which audit it was")] = AuditKind.CHECKSUM,
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
) -> None:
    """Record an audit that you ran by hand with spark-submit: failovers and pages believe only recorded audits.

    What is kept has to have the digest that the audit printed. If it has another one, somebody has changed it, or
    another audit has ended since: then run the audit again.
    """
    with opened(CommandFiles(topology, connections, evidence)) as clients:
        declared = audited_flow(clients.topology, flow)
        if declared.observed:
            raise Refused(f"{flow} is an observed flow: its audits count without a record")
        audited = Flow(declared.subject, declared.source.name, declared.target.name)
        result, report = _printed(clients.evidence_root, audited, audit, sha256)
        recorded_audits.record_audit(clients, result)
        if audit is AuditKind.CHECKSUM:
            recorded_audits.record_inputs(clients, audited)
        _keep(clients, audited, result, report)
    typer.echo(f"recorded: the {audit} audit of {flow}: {line(result.sentence)}")
    raise typer.Exit(ExitCode.GOOD)


def _printed(root: Any, flow: Flow, audit: AuditKind, sha256: str) -> tuple[AuditResult, dict[str, Any]]:
    """Return the newest result of a flow and its report, if they are those that the audit has printed the digest of."""
    try:
        result = ResultStore(root).newest(audit, group=flow.group, source=flow.source, target=flow.target)
        if result is None:
            raise Refused(f"no {audit} audit of {flow} is kept below the evidence root: run it first")
        found, report = proof_digest(root, result), report_bytes(root, result)
    except OSError as error:
        raise TryAgain(f"what the {audit} audit of {flow} has kept cannot be read: {cause(error)}") from error
    except (ResultUnreadable, ValueError) as error:
        raise Refused(cause(error)) from error
    if not hmac.compare_digest(found, sha256.strip().lower()):
        raise NeedsPerson(
            f"what is kept of the {audit} audit of {flow} does not have the digest that you named: another audit has "
            "ended since, or somebody has changed the files. Nothing was recorded: run the audit again"
        )
    return result, json.loads(report)


def _keep(clients: Clients, flow: Flow, result: AuditResult, report: dict[str, Any]) -> None:
    """Show it as the group's newest audit, if it is about what the group replicates now."""
    state = GroupContext(flow.group, clients).read_register_state()
    if state is None or state.active != flow.source or flow.target not in state.standbys:
        return
    WatchResultStore(clients.evidence_root).keep(
        KeptResult(
            group=flow.group,
            watch="lag" if result.kind is AuditKind.LAG else "checksum",
            outcome=_OUTCOMES[result.verdict],
            sentences=tuple(map(line, sentences_of(report))),
            looked_at=result.at,
            facts=facts_of(report, report_path(result), f"{flow.source}-to-{flow.target}"),
        )
    )
