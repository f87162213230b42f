"""Audits the conflicts of a block of active-active use by Spark. Records are read, and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.audit.report_folders import prune, report_folder
from kafka_dr.causes import cause
from kafka_dr.json_documents import write_whole
from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.flow_audit import read_report
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.spark_job import SparkJobOperator, audit_connections
from kafka_dr_airflow.topology_file import TOPOLOGY, evidence_root, read_topology

#: How long reports are kept, with the tables of all findings.
_KEPT = timedelta(days=90)
#: Of the task for each block. The first audit reads all that the logs hold.
PER_BLOCK: dict[str, Any] = {
    "map_index_template": "{{ task.block }}",
    "retries": 0,
    "execution_timeout": timedelta(hours=6),
    "max_active_tis_per_dagrun": 1,
    "priority_weight": 1,
    "weight_rule": "absolute",
}


class ConflictAuditOperator(SparkJobOperator):
    """Submits the audit of one block, keeps its report and its page, and is red if conflicts are certain or unknown.

    :param block: its name in ``active_active``
    """

    operator_extra_links = (AuditLink(),)

    def __init__(self, *, block: str, **kwargs: Any) -> None:
        defaults = {"task_id": "audit", "name": f"kafka-dr conflict audit of {block}", **PER_BLOCK}
        super().__init__(job="conflict_audit", **{**defaults, **kwargs})
        self.block = block

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Audit the block, and keep the result, unless only some topics were asked for."""
        params = context["params"]
        with kept_result(self.log, context, group=self.block, watch="conflicts", keeps=not params.get("topic")) as kept:
            return self._audited(context, kept)

    def is_an_answer(self, ended: str) -> bool:
        """Return whether conflicts were found: exit code 1, and the line that says how many."""
        return "Error code is: 1." in ended and any(line.startswith("findings: ") for line in ended.splitlines())

    def _audited(self, context: Any, kept: LookResult) -> dict[str, str]:
        with plain_errors():
            topology = read_topology(os.environ)
            members = topology.conflict_blocks[self.block].members
        params, now = context["params"], datetime.now(UTC)
        reports = f"audits/{self.block}/conflicts/all-members"
        folder = f"{reports}/{report_folder(now, context['run_id'], context['ti'].try_number)}"
        self.report_path = f"{folder}/report.json"
        out = f"{topology.evidence.root.rstrip('/')}/{folder}"
        self.application_args = ["--topology", os.environ[TOPOLOGY], "--block", self.block, "--out", out]
        self.application_args += ["--full"] if params.get("full") else []
        self.application_args += ["--topics", str(params["topic"])] if params.get("topic") else []
        with self.reachable(audit_connections(members), encrypts=True):
            problem = self.submit(context)
        root = evidence_root(topology.evidence)
        found = root.joinpath(*folder.split("/"))
        report = read_report(found.joinpath("report.json"))
        prune(root.joinpath(*reports.split("/")), now=now, keep=_KEPT)
        if report is None:
            said = problem or "the audit ended without a report: see its log"
            kept.sentences = (line(said),)
            raise AirflowFailException(f"{self.block}: unknown: {line(said)}")
        self._keep_page(found, report)
        return self._judged(report, problem, kept)

    def _keep_page(self, folder: Any, report: Mapping[str, Any]) -> None:
        from kafka_dr.evidence.audit_view import build_audit_view
        from kafka_dr.evidence.page import render_audit

        page = render_audit(build_audit_view("conflicts", self.block, report))
        try:
            write_whole(folder.joinpath("report.html"), page.encode())
        except OSError as error:
            raise AirflowException(f"{self.block}: its page could not be kept: {line(cause(error))}") from None

    def _judged(self, report: Mapping[str, Any], problem: str | None, kept: LookResult) -> dict[str, str]:
        verdict, sentence = str(report["verdict"]), line(str(report["sentence"]))
        self.log.info("%s: %s: %s", line(self.block), line(verdict), sentence)
        for caution in report["cautions"]:
            self.log.warning("%s", line(caution))
        figures = ("certain", "possible", "partition_differs", "stray_records", "unknown_offsets", "records_read")
        kept.sentences = (sentence, *map(line, report["cautions"]))
        kept.facts = {name: report[name] for name in figures} | {"verdict": verdict, "report": self.report_path}
        if problem is not None and verdict != "unknown":
            # The next audit will find the same once more.
            kept.sentences = (f"what the next audit continues from was not kept: {line(problem)}", *kept.sentences)
            verdict = "unknown"
        if verdict in ("ok", "warning"):
            kept.outcome = "ok" if verdict == "ok" else "warning"
            return {"verdict": verdict, "report": self.report_path}
        kept.outcome = "failed" if verdict == "findings" else "unknown"
        raise AirflowFailException(f"{self.block}: {verdict}: {sentence}")
