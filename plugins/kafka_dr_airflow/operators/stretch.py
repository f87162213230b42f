"""Looks at stretch clusters: what the loss of a site would do. Metadata is read, and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.kept_reports import keep_report
from kafka_dr_airflow.operators.kept_results import kept_result
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.topology_file import read_topology

#: Of the task for each cluster. Requests have deadlines, and so have measurements; this only ends what hangs in spite.
PER_CLUSTER: dict[str, Any] = {
    "map_index_template": "{{ task.cluster }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=15),
    "priority_weight": 1,
    "weight_rule": "absolute",
}


class StretchOperator(BaseOperator):
    """Looks at one stretch cluster, keeps the report, and is red unless nothing is wrong and all is known.

    :param cluster: its name in ``stretch_clusters``
    """

    ui_color = "#dfeedd"
    operator_extra_links = (AuditLink(),)

    def __init__(self, *, cluster: str, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "look", **PER_CLUSTER, **kwargs})
        self.cluster = cluster
        #: The path of the report, below the evidence root; empty until it is written.
        self.report_path = ""

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Look, keep the report and the result, and return the verdict."""
        with kept_result(self.log, context, group=self.cluster, watch="stretch") as kept:
            with plain_errors():
                report = self._looked()
            verdict, sentence = report["verdict"], str(report["sentence"])
            kept.outcome = verdict
            kept.sentences = (sentence, *(f"{each['level']}: {each['sentence']}" for each in report["findings"]))
            kept.facts = {"verdict": verdict, "sites": report["sites"]}
            self.report_path = self._kept(report, context)
            kept.facts = {**kept.facts, "report": self.report_path}
            self.log.info("%s: %s: %s", line(self.cluster), verdict, line(sentence))
            if kept.outcome not in ("ok", "warning"):
                raise AirflowFailException(line(f"{self.cluster}: {verdict}: {sentence}"))
        return {"verdict": str(verdict), "report": self.report_path}

    def _looked(self) -> Mapping[str, Any]:
        from kafka_dr.clock import SystemClock
        from kafka_dr.clusters import KafkaCluster
        from kafka_dr.stretch import look_at_stretch
        from kafka_dr_airflow.hooks.connections import CONNECTIONS

        declared = read_topology(os.environ).stretch_cluster(self.cluster)
        with ExitStack() as stack:
            cluster, *others = (
                stack.enter_context(KafkaCluster(declared.name, CONNECTIONS.kafka(each)))
                for each in declared.connections
            )
            writer = others[0] if others else None
            return look_at_stretch(declared, cluster, SystemClock(), writer).to_json(whole=False)

    def _kept(self, report: Mapping[str, Any], context: Any) -> str:
        from kafka_dr.evidence.audit_view import build_audit_view
        from kafka_dr.evidence.page import render_audit

        page = render_audit(build_audit_view("stretch", self.cluster, report))
        return keep_report(self.cluster, "stretch/all-sites", report, page, context)
