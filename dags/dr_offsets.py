"""Offsets. What the preview shows, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.offset_reports import OffsetPreviewOperator
from kafka_dr_airflow.operators.per_group import DeclaredGroupsOperator

with DAG(
    dag_id="dr_offsets",
    dag_display_name="DR: offsets",
    description="Shows where each consumer group would resume after a switch, and what it would read again.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/30 * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
) as dag:
    groups = DeclaredGroupsOperator()
    OffsetPreviewOperator.partial(
        task_id="offsets",
        map_index_template="{{ task.protection_group }}",
        retries=0,
        execution_timeout=timedelta(minutes=10),
    ).expand(protection_group=groups.output)
