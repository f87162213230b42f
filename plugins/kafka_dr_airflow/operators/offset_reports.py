"""Committed offsets of consumer groups: the archive of offset syncs, and a preview of what a switch would do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.per_group import WatchOperator
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.report_folders import prune, report_folder

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.runs.clients import Clients


class OffsetSyncsOperator(WatchOperator):
    """Archives the offset syncs between the clusters of a protection group."""

    def look(self, clients: Clients) -> WatchResult:
        """Read what was written since the last run, and store it."""
        from kafka_dr.group_offsets.sync_archive import archive_syncs

        return archive_syncs(self.protection_group, clients)


class OffsetPreviewOperator(BaseOperator):
    """Shows where each consumer group would resume if the switch were now; red if an offset could not be translated.

    :param protection_group: the group whose consumer groups are shown
    """

    ui_color = "#dfeedd"
    operator_extra_links = (AuditLink(),)

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.protection_group = protection_group
        #: The path of this task's report, below the evidence root; empty until the task has written it.
        self.report_path = ""

    @fails_plainly
    def execute(self, context: Any) -> dict[str, Any]:
        """Translate the offsets of every group, write the report, and judge it."""
        from kafka_dr.group_offsets.offset_preview import Preview, preview_offsets
        from kafka_dr_airflow.task_clients import open_clients

        now = datetime.now(UTC)
        with plain_errors(), open_clients() as clients:
            reports = f"audits/{self.protection_group}/offsets/{self._direction(clients)}"
            folder = f"{reports}/{report_folder(now, context['run_id'], context['ti'].try_number)}"
            found = preview_offsets(self.protection_group, clients, folder=folder)
            keep = timedelta(seconds=clients.topology.group(self.protection_group).audits.keep_fingerprints_seconds)
            prune(clients.evidence_root.joinpath(*reports.split("/")), now=now, keep=keep)
        if not isinstance(found, Preview):
            raise AirflowSkipException(found.summary)
        self.report_path = f"{folder}/report.json"
        for sentence in found.watched.sentences:
            self.log.info("%s", line(sentence))
        if found.watched.outcome != "ok":
            raise AirflowException(line(found.watched.summary))
        return {
            "verdict": found.report["verdict"],
            "redelivered": found.report["redelivered"],
            "mm2_redelivered": found.report["mm2_redelivered"],
            "report": self.report_path,
        }

    def _direction(self, clients: Clients) -> str:
        from kafka_dr.checks.audit_checks import flow_to_audit
        from kafka_dr.replication import Flow

        flow = flow_to_audit(self.protection_group, clients)
        if not isinstance(flow, Flow):
            raise AirflowSkipException(flow.summary)
        return f"{flow.source}-to-{flow.target}"
