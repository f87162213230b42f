"""What a task does with metrics, in a process that begins as Airflow's task runner does. Run as a program."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from airflow.sdk.configuration import conf
from airflow.sdk.execution_time.context import set_current_context
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils

from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepRecord
from kafka_dr_airflow.operators.kept_results import keep_round, kept_result
from kafka_dr_airflow.operators.switch import LogWatch
from kafka_dr_airflow.topology_file import read_topology

_LOG = logging.getLogger("task")


def main() -> None:
    """Keep the results of two watches, and end a step."""
    stats.initialize(
        factory=stats_utils.get_stats_factory(), export_legacy_names=conf.getboolean("metrics", "legacy_names_on")
    )
    context: Any = {"run_id": "scheduled__1", "ti": SimpleNamespace(dag_id="dr_planned_failover")}
    facts = {"phase": "stable", "active": "east", "held": False, "epoch": 3, "denies_added": 2}
    found = WatchResult("orders", "failed", ("east lacked 2 DENYs",), facts)
    keep_round(_LOG, context, read_topology(os.environ), watch="health", found=[found])
    with kept_result(_LOG, context, group="orders", watch="lag") as kept:
        figures: dict[str, Any] = {"seconds": 0.5, "records": 7, "bytes": None, "findings": {}}
        kept.outcome, kept.sentences, kept.facts = "ok", ("7 records wait",), figures
    with cast("Any", set_current_context)(context):
        at = datetime.now(UTC)
        LogWatch(_LOG).ended(StepRecord("orders", "manual__1", "claim", 3, "done", at, at, 0.75, "claimed"))


if __name__ == "__main__":
    main()
