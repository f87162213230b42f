"""Canary. What it writes and judges, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.per_group import PER_GROUP, CanaryOperator, DeclaredGroupsOperator

with DAG(
    dag_id="dr_canary",
    dag_display_name="DR: canary",
    description="Sends numbered records through each flow and judges how they arrive.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="* * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    groups = DeclaredGroupsOperator()
    CanaryOperator.partial(task_id="canary", **PER_GROUP).expand(protection_group=groups.output)
