"""The audit of one flow, as a task sees it: where its report belongs, what is journaled of it, what it says."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_dr.audit.report_folders import prune, report_folder
from kafka_dr.causes import cause
from kafka_dr.metrics.audit_figures import facts_of, sentences_of
from kafka_dr.quoting import line
from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.replication.flow import Flow
    from kafka_dr.runs.clients import Clients
    from kafka_dr.topology.audited import AuditedFlow
    from kafka_dr.topology.model import Topology
    from kafka_dr.watch_results import WatchName
    from kafka_dr_airflow.operators.kept_results import LookResult

#: What an audit says that has nothing to add.
_ALL_IS_WELL = ("equal", "ok")


#: Under which name a kept result says how many seconds its audit took.
TOOK = "audit_seconds"


@dataclass(frozen=True, slots=True)
class FlowAudit:
    """One audit of one flow by one try of a task.

    :param declared: the flow
    :param audit: ``checksum`` or ``lag``: the job, and the folder of its reports
    :param folder: of this audit's report, below the evidence root
    :param root: the evidence root
    """

    declared: AuditedFlow
    audit: str
    folder: str
    root: Any = field(repr=False, compare=False)
    at: datetime

    @classmethod
    def of(cls, declared: AuditedFlow, audit: str, context: Any) -> FlowAudit:
        """Return the audit that this try of the task is about to make."""
        now = datetime.now(UTC)
        root = evidence_root(read_topology(os.environ).evidence)
        name = report_folder(now, context["run_id"], context["ti"].try_number)
        return cls(declared, audit, f"{_reports(declared, audit)}/{name}", root, now)

    @property
    def flow(self) -> Flow:
        """The flow under the names by which its results are kept."""
        from kafka_dr.replication.flow import Flow

        return Flow(self.declared.subject, self.declared.source.name, self.declared.target.name)

    @property
    def name(self) -> str:
        """The name of the flow."""
        return self.declared.name

    @property
    def connections(self) -> tuple[str, ...]:
        """The connection ids by which the job reaches both clusters."""
        return tuple(end.connection for end in self.declared.ends)

    @property
    def report_path(self) -> str:
        """Where the report is, below the evidence root."""
        return f"{self.folder}/report.json"

    @property
    def watch(self) -> WatchName:
        """Under which name the result is kept."""
        return watch_of(self.audit)

    @property
    def out(self) -> str:
        """The folder of the report, as the job names it."""
        return f"{read_topology(os.environ).evidence.root.rstrip('/')}/{self.folder}"

    def begins_again(self) -> bool:
        """Return whether the job reads all that both clusters hold, because nothing is kept that it could continue.

        :raises OSError: the storage refuses
        """
        from kafka_dr.audit.recorded_input import InputKind, RecordedInput
        from kafka_dr.audit.result import AuditKind

        if self.audit != AuditKind.CHECKSUM:
            return False
        state = RecordedInput(InputKind.OFFSET_MAP, self.declared.subject, self.declared.direction)
        return not state.sha256(self.root)

    def last_took(self) -> float | None:
        """Return how many seconds the last audit of the flow took, also if it was ended; ``None`` if unknown."""
        from kafka_dr.json_documents import is_number
        from kafka_dr.watch_results import WatchResultStore, read_watch_status

        kept = read_watch_status(self.declared.subject, self.watch, WatchResultStore(self.root), self.at).result
        seconds = None if kept is None else kept.facts.get(TOOK)
        return float(seconds) if is_number(seconds) else None

    def drop_unrecorded(self, clients: Clients, logger: Any) -> None:
        """Remove what others wrote of what the job would continue from: then it begins again."""
        from kafka_dr.audit.result import AuditKind
        from kafka_dr.checks.recorded_audits import drop_unrecorded

        if self.audit != AuditKind.CHECKSUM or self.declared.observed:
            return
        try:
            with plain_errors():
                dropped = drop_unrecorded(clients, self.flow)
        except OSError as error:
            raise AirflowFailException(f"{self.name}: unknown: {line(cause(error))}") from None
        for each in dropped:
            logger.warning("%s: it was removed, and what it says is compared again", line(each))

    def record(self, clients: Clients) -> None:
        """Journal the digest of the newest result, with the operator's credentials, which the job does not have.

        An observed flow has no register: its results gate nothing.
        """
        from kafka_dr.audit.result import AuditKind, ResultUnreadable
        from kafka_dr.checks.recorded_audits import filed, record_audit, record_inputs

        if self.declared.observed:
            return
        try:
            result = filed(self.root, self.flow, AuditKind(self.audit), report=self.report_path)
            with plain_errors():
                if result is not None:
                    record_audit(clients, result)
                if self.audit == AuditKind.CHECKSUM:
                    record_inputs(clients, self.flow)
        except (ResultUnreadable, OSError) as error:
            raise AirflowFailException(f"{self.name}: unknown: {line(cause(error))}") from None

    def judge(self, problem: str | None, kept: LookResult, logger: Any) -> dict[str, str]:
        """Show what the report says, and remove old ones.

        :param problem: what the job complains of; ``None`` if it ended well
        :param kept: is filled in
        :returns: the verdict, and where the report is
        :raises AirflowFailException: the verdict is not good, or there is none
        """
        report = read_report(self.root.joinpath(*self.report_path.split("/")))
        keep = self.declared.audits.keep_fingerprints_seconds
        reports = self.root.joinpath(*_reports(self.declared, self.audit).split("/"))
        prune(reports, now=self.at, keep=timedelta(seconds=keep))
        if report is None:
            said = problem or "the audit ended without a report: see its log"
            kept.sentences = (line(said),)
            raise AirflowFailException(f"{self.name}: unknown: {said}")
        first, *findings = sentences_of(report)
        logger.info("%s: %s: %s", self.name, line(report["verdict"]), line(first))
        for finding in findings:
            logger.warning("%s", line(finding))
        kept.sentences = (first, *findings)
        kept.facts = facts_of(report, self.report_path, self.declared.direction)
        if problem is not None:
            failed = report["verdict"] == "findings"
            if self.declared.observed:
                kept.sentences = (*kept.sentences, f"first: {_first(self.watch, failed=failed)}")
            if failed:
                kept.outcome = "failed"
                raise AirflowFailException(f"{self.name}: findings: {line(first)}")
            if problem != first:
                kept.sentences = (line(problem), *kept.sentences)
            kept.outcome = "unknown"
            raise AirflowFailException(f"{self.name}: unknown: {problem}")
        kept.outcome = "ok" if report["verdict"] in _ALL_IS_WELL else "warning"
        return {"verdict": str(report["verdict"]), "report": self.report_path, "at": str(report.get("at"))}

    def asset(self) -> Asset:
        """Return the asset of the flow of which a good verdict is an event."""
        flow, audit = self.flow, self.audit
        address = f"kafka-dr://{quote(flow.group)}/{quote(flow.source)}-to-{quote(flow.target)}/{audit}"
        return Asset(name=f"{flow.group} {flow.source}→{flow.target} {audit}", uri=address)


def chosen_flow(subject: str, wanted: str | None, clients: Clients, *, audit: str) -> AuditedFlow:
    """Return the flow of a protection group that is to be audited now, or an observed flow.

    :param wanted: the only flow that the run asks for, of whatever group
    :param audit: of several standbys the one whose newest audit of that kind is the oldest has its turn
    :raises AirflowSkipException: the group has none, or the run asks for another one
    """
    from kafka_dr.audit.result import AuditKind
    from kafka_dr.checks.audit_checks import flow_to_audit
    from kafka_dr.replication.flow import Flow
    from kafka_dr.topology.audited import audited_flow, audited_flows

    if wanted:
        found = audited_flows(clients.topology).get(wanted)
        if found is not None and found.subject == subject:
            return found
        raise AirflowSkipException(f"this run audits only {wanted}")
    with plain_errors():
        if (observed := observed_now(clients.topology, subject)) is not None:
            return observed
        flow = flow_to_audit(subject, clients, AuditKind(watch_of(audit)))
        if not isinstance(flow, Flow):
            raise AirflowSkipException(flow.summary)
        return audited_flow(clients.topology, f"{flow.group}.{flow.source}-to-{flow.target}")


def is_present(flow: AuditedFlow, clients: Clients) -> bool:
    """Return whether a flow is what its group replicates now, so that an audit of it is the group's newest proof.

    An observed flow is always. So is the flow to an old cluster that a failback is making a copy of.
    """
    from kafka_dr.runs.group_context import GroupContext

    if flow.observed:
        return True
    try:
        state = GroupContext(flow.subject, clients).read_register_state()
    except Exception:  # noqa: BLE001 - whatever hides the register: the result is shown by the task alone
        return False
    return state is not None and state.active == flow.source.name and flow.target.name in state.standbys


def observed_now(topology: Topology, name: str) -> AuditedFlow | None:
    """Return an observed flow of that name that has audits."""
    from kafka_dr.topology.audited import observed_audits

    spec = topology.observed_flows.get(name)
    return None if spec is None else observed_audits(spec)


def subject_of(wanted: str, topology: Topology) -> str:
    """Return the group or the observed flow of a flow that a run names.

    :raises AirflowFailException: the topology has no such flow
    """
    from kafka_dr.topology.audited import audited_flow

    with plain_errors():
        return audited_flow(topology, wanted).subject


def _first(watch: WatchName, *, failed: bool) -> str:
    """Return what is done first about an observed flow, of which no other check of this project says anything."""
    from kafka_dr.observation import what_first

    return what_first(watch, "failed" if failed else "unknown")


def watch_of(audit: str) -> WatchName:
    """Return under which name the result of an audit is kept."""
    return "lag" if audit == "lag" else "checksum"


def is_whole(params: Mapping[str, Any]) -> bool:
    """Return whether whole flows are audited, and not only a part that the parameters name."""
    return not any(params.get(part) for part in ("topics", "offsets", "since", "until"))


def part_arguments(params: Mapping[str, Any]) -> list[str]:
    """Return what the parameters of the run add to the command line of the job."""
    found: list[str] = []
    if params.get("full"):
        found.append("--full")
    for several in ("topics", "offsets"):
        if values := params.get(several):
            found += [f"--{several}", *map(str, values)]
    for bound in ("since", "until"):
        if value := params.get(bound):
            found += [f"--{bound}", str(value)]
    return found


def _reports(flow: AuditedFlow, audit: str) -> str:
    return f"audits/{flow.subject}/{audit}/{flow.direction}"


def read_report(path: Any) -> dict[str, Any] | None:
    """Return the report of an audit; ``None`` if there is none, or it is not whole."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "verdict" in found else None
