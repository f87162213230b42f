"""Lag audit. What it measures, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, AssetAlias

from kafka_dr_airflow.operators.per_group import DeclaredGroupsOperator
from kafka_dr_airflow.operators.spark_audit import PER_FLOW, SparkAuditOperator
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_lag_audit",
    dag_display_name="DR: lag audit",
    description="Measures the lag of each flow and its consumer groups, and whether they make progress.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/5 * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={"flow": declared().flow_param()},
) as dag:
    groups = DeclaredGroupsOperator()
    audit = SparkAuditOperator.partial(
        task_id="lag_audit",
        audit="lag",
        outlets=[AssetAlias("kafka_dr_lag_audit")],
        execution_timeout=timedelta(minutes=4),
        **PER_FLOW,
    ).expand(protection_group=groups.output)
