"""The jobs that compare whole copies, as a drill needs them for its way back; whoever runs the drill can start them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Protocol

from kafka_dr.audit.report_folders import report_folder
from kafka_dr.audit.result import AuditKind, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.checks.recorded_audits import filed, record_audit, record_inputs
from kafka_dr.errors import TryAgain
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients


class CopyJobs(Protocol):
    """Starts the jobs of a failback. Each returns when the job has ended: empty, or what it could not find out.

    A finding is an answer: what the job has kept says it.
    """

    def list_stranded(self, group: str) -> str:
        """List the records that a group's old cluster holds and that were never copied, and keep them."""
        ...

    def audit_whole(self, flow: str, out: str) -> str:
        """Compare everything that a flow has copied.

        :param flow: ``GROUP.SOURCE-to-TARGET``
        :param out: the folder of the report
        """
        ...


def list_stranded(group: str, jobs: CopyJobs, say: Callable[[str], None]) -> None:
    """Have the stranded records of a drill's group listed.

    :raises TryAgain: the job could not
    """
    if problem := jobs.list_stranded(group):
        raise TryAgain(f"the stranded records of {group} could not be listed: {problem}")
    say(f"the stranded records of {group} are listed and kept")


def audit_copy(flow: Flow, clients: Clients, jobs: CopyJobs, run: str, say: Callable[[str], None]) -> None:
    """Have the whole copy compared, and journal the result, as the audit task of a failback does.

    :param clients: of the drill
    :param run: the failback
    :raises TryAgain: the job could not find out whether the copy is equal
    """
    direction = f"{flow.source}-to-{flow.target}"
    reports = f"audits/{flow.group}/{AuditKind.CHECKSUM}/{direction}"
    report = f"{reports}/{report_folder(clients.clock.now().astimezone(UTC), run, 1)}"
    root = clients.topology.evidence.root.rstrip("/")
    if problem := jobs.audit_whole(f"{flow.group}.{direction}", f"{root}/{report}"):
        raise TryAgain(f"the copy by {flow} could not be compared: {problem}")
    try:
        found = filed(clients.evidence_root, flow, AuditKind.CHECKSUM, report=f"{report}/report.json")
    except (ResultUnreadable, OSError) as error:
        raise TryAgain(f"the result of the audit of {flow} cannot be read: {cause(error)}") from error
    if found is None:
        raise TryAgain(f"the audit of {flow} ended without a result: see its log")
    record_audit(clients, found)
    record_inputs(clients, flow)
    say(f"the whole copy by {flow} was compared: {found.verdict.value}")
