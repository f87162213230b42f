"""Audits of replication by Spark: one mapped task for each group submits the audit of its flow and judges it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.report_folders import prune, report_folder
from kafka_dr_airflow.topology_file import TOPOLOGY, evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.replication import Flow

#: How a task is mapped over the groups. An audit is not tried again: the next run starts soon enough.
PER_FLOW: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    # Each task is its own Spark application.
    "max_active_tis_per_dagrun": 4,
}


class SparkAuditOperator(SparkJobOperator):
    """Submits the audit of a group's flow and shows its verdict. Red unless the verdict is good.

    A good verdict on the whole flow creates an event of the flow's asset: a DAG can wait for a verified copy. The flow
    is known only when the task runs, so ``outlets`` are aliases.

    :param protection_group: the group whose flow is audited, unless the run names a flow
    :param audit: ``checksum`` or ``lag``: the job, and the folder of its reports
    """

    operator_extra_links = (AuditLink(),)

    def __init__(self, *, protection_group: str, audit: str, **kwargs: Any) -> None:
        kwargs.setdefault("name", f"kafka-dr {audit} audit of {protection_group}")
        super().__init__(job=f"{audit}_audit", **kwargs)
        self.protection_group = protection_group
        self.audit = audit

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the flow and judge the report."""
        topology = read_topology(os.environ)
        flow = self._flow(context["params"].get("flow"))
        name = _name(flow)
        now, root = datetime.now(UTC), evidence_root(topology.evidence)
        reports = f"audits/{flow.group}/{self.audit}/{flow.source}-to-{flow.target}"
        folder = f"{reports}/{report_folder(now, context['run_id'], context['ti'].try_number)}"
        self.report_path = f"{folder}/report.json"
        self._drop_unrecorded(flow)
        self.application_args = [
            *("--topology", os.environ[TOPOLOGY], "--flow", name),
            *("--out", f"{topology.evidence.root.rstrip('/')}/{folder}"),
            *self.arguments(context["params"]),
        ]
        with self.reachable((flow.source, flow.target)):
            problem = self._submitted(context, root, flow)
        self._record(root, flow)
        report = _read_report(root.joinpath(*self.report_path.split("/")))
        keep = timedelta(seconds=topology.group(flow.group).audits.keep_fingerprints_seconds)
        prune(root.joinpath(*reports.split("/")), now=now, keep=keep)
        if report is None:
            raise AirflowFailException(f"{name}: unknown: {problem or 'the audit ended without a report: see its log'}")
        self._show(name, report)
        if problem is not None:
            red = f"findings: {_sentence(report)}" if report["verdict"] == "findings" else f"unknown: {problem}"
            raise AirflowFailException(f"{name}: {red}")
        for alias in self.outlets if _is_whole(context["params"]) else ():
            context["outlet_events"][alias].add(_asset(self.audit, flow), extra={"at": str(report.get("at"))})
        return {"verdict": str(report["verdict"]), "report": self.report_path}

    def arguments(self, params: Mapping[str, Any]) -> list[str]:
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

    def _flow(self, wanted: str | None) -> Flow:
        from kafka_dr.checks.audit_checks import flow_to_audit
        from kafka_dr.replication import Flow
        from kafka_dr_airflow.task_clients import open_clients

        if wanted:
            clusters = read_topology(os.environ).group(self.protection_group).clusters
            for flow in (Flow(self.protection_group, *ends) for ends in permutations(clusters, 2)):
                if _name(flow) == wanted:
                    return flow
            raise AirflowSkipException(f"this run audits only {wanted}")
        with plain_errors(), open_clients() as clients:
            found = flow_to_audit(self.protection_group, clients)
        if isinstance(found, Flow):
            return found
        raise AirflowSkipException(found.summary)

    def _record(self, root: Any, flow: Flow) -> None:
        """Journal the digest of the newest result, with the operator's credentials, which the job does not have."""
        from kafka_dr.audit import AuditKind, ResultUnreadable
        from kafka_dr.checks.recorded_audits import filed, record_audit, record_inputs
        from kafka_dr_airflow.task_clients import open_clients

        try:
            result = filed(root, flow, AuditKind(self.audit), report=self.report_path)
            with plain_errors(), open_clients() as clients:
                if result is not None:
                    record_audit(clients, result)
                if self.audit == AuditKind.CHECKSUM:
                    record_inputs(clients, flow)
        except (ResultUnreadable, OSError) as error:
            raise AirflowFailException(f"{_name(flow)}: unknown: {line(error)}") from None

    def _submitted(self, context: Any, root: Any, flow: Flow) -> str | None:
        """Run the job; if this task is ended meanwhile, the next audit continues from what the job has kept."""
        try:
            return self.submit(context)
        except BaseException:
            # What ended the task is to be said, and not that its digests could not be written as well.
            with suppress(Exception):
                self._record(root, flow)
            raise

    def _drop_unrecorded(self, flow: Flow) -> None:
        """Remove what others wrote of what the job would continue from: then it begins again."""
        from kafka_dr.audit import AuditKind
        from kafka_dr.checks.recorded_audits import drop_unrecorded
        from kafka_dr_airflow.task_clients import open_clients

        if self.audit != AuditKind.CHECKSUM:
            return
        try:
            with plain_errors(), open_clients() as clients:
                dropped = drop_unrecorded(clients, flow)
        except OSError as error:
            raise AirflowFailException(f"{_name(flow)}: unknown: {line(error)}") from None
        for each in dropped:
            self.log.warning("%s: it was removed, and what it says is compared again", line(each))

    def _show(self, name: str, report: Mapping[str, Any]) -> None:
        self.log.info("%s: %s: %s", name, line(report["verdict"]), _sentence(report))
        for finding in report.get("findings") or ():
            self.log.warning("%s", line(finding.get("sentence") if isinstance(finding, dict) else finding))


def _is_whole(params: Mapping[str, Any]) -> bool:
    """Return whether the whole flow is audited, and not only a part that the parameters name."""
    return not any(params.get(part) for part in ("topics", "offsets", "since", "until"))


def _name(flow: Flow) -> str:
    return f"{flow.group}.{flow.source}-to-{flow.target}"


def _read_report(path: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "verdict" in found else None


def _sentence(report: Mapping[str, Any]) -> str:
    return line(report.get("sentence") or "see the report")


def _asset(audit: str, flow: Flow) -> Asset:
    address = f"kafka-dr://{quote(flow.group)}/{quote(flow.source)}-to-{quote(flow.target)}/{audit}"
    return Asset(name=f"{flow.group} {flow.source}→{flow.target} {audit}", uri=address)
