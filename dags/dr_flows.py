"""Flows. What is compared and mended, and what to do when a group is red, stands in the runbook of the same name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.declared_groups import DeclaredGroupsOperator
from kafka_dr_airflow.operators.watch import PER_GROUP, FlowsOperator

with DAG(
    dag_id="dr_flows",
    dag_display_name="DR: flows",
    description="Keeps replication as the DR register wants it, and sees that it moves.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/5 * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # red is news, never a reason to pause it
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    groups = DeclaredGroupsOperator()
    FlowsOperator.partial(task_id="flows", **PER_GROUP).expand(protection_group=groups.output)
