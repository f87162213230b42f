"""Looks at observed flows: replication that somebody else runs. Everything is read, and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from kafka_dr.quoting import line
from kafka_dr.watch_results import WatchOutcome
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.kept_reports import keep_report
from kafka_dr_airflow.operators.kept_results import kept_result
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.topology_file import evidence_root, read_topology

#: A look ends by itself after ``most_seconds`` of its flow; this only ends one that hangs in spite of that.
_HANGING = timedelta(hours=2)
#: Of the task for each flow. One at a time: a look may read millions of records.
PER_FLOW: dict[str, Any] = {
    "map_index_template": "{{ task.flow }}",
    "retries": 0,
    "execution_timeout": _HANGING,
    "max_active_tis_per_dagrun": 1,
    "priority_weight": 1,
    "weight_rule": "absolute",
}
#: What the verdict of a look is for the status page. What is only to know is no fault.
_OUTCOMES: dict[str, WatchOutcome] = {"ok": "ok", "warning": "warning", "failed": "failed", "unknown": "unknown"}


class ObserveOperator(BaseOperator):
    """Looks at one observed flow, keeps the report, and is red unless nothing is wrong and all was looked at.

    :param flow: its name in ``observed_flows``
    """

    ui_color = "#dfeedd"
    operator_extra_links = (AuditLink(),)

    def __init__(self, *, flow: str, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "look", **PER_FLOW, **kwargs})
        self.flow = flow
        #: The path of the report, below the evidence root; empty until it is written.
        self.report_path = ""

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Look, keep the report and the result, and return the verdict."""
        with kept_result(self.log, context, group=self.flow, watch="observation") as kept:
            with plain_errors():
                report = self._looked()
            verdict, sentence = str(report["verdict"]), str(report["sentence"])
            kept.outcome = _OUTCOMES[verdict]
            readers = (f"{row['group']}, {row['kind']}: {row['to_do']}" for row in report["readers"])
            not_seen = (f"not looked at: {each}" for each in report["not_looked_at"])
            kept.sentences = (sentence, *not_seen, *readers)
            kept.facts = {**report["totals"], "groups": report["groups_by_kind"], "verdict": verdict}
            self.report_path = self._kept(report, context)
            kept.facts = {**kept.facts, "report": self.report_path}
            self.log.info("%s: %s: %s", line(self.flow), verdict, line(sentence))
            if kept.outcome not in ("ok", "warning"):
                raise AirflowFailException(line(f"{self.flow}: {verdict}: {sentence}"))
        return {"verdict": verdict, "report": self.report_path}

    def _looked(self) -> Mapping[str, Any]:
        from kafka_dr.clock import SystemClock
        from kafka_dr.clusters import KafkaCluster
        from kafka_dr.observation import kept_audits, look_at
        from kafka_dr_airflow.hooks.connections import CONNECTIONS

        topology = read_topology(os.environ)
        declared = topology.observed_flow(self.flow)
        kept = kept_audits(evidence_root(topology.evidence), declared)
        settings = {end.name: CONNECTIONS.kafka(end.connection) for end in (declared.source, declared.target)}
        with (
            KafkaCluster(declared.source.name, settings[declared.source.name]) as source,
            KafkaCluster(declared.target.name, settings[declared.target.name]) as target,
        ):
            return look_at(declared, source, target, SystemClock(), kept).to_json()

    def _kept(self, report: Mapping[str, Any], context: Any) -> str:
        from kafka_dr.evidence.observation_view import build_observation_view
        from kafka_dr.evidence.page import render_observation

        page = render_observation(build_observation_view(report))
        direction = f"{report['source']['name']}-to-{report['target']['name']}"
        return keep_report(self.flow, f"observation/{direction}", report, page, context)
