"""Offset syncs. What is archived, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.offset_reports import OffsetSyncsOperator
from kafka_dr_airflow.operators.per_group import PER_GROUP, DeclaredGroupsOperator

with DAG(
    dag_id="dr_offset_syncs",
    dag_display_name="DR: offset syncs",
    description="Archives every offset sync that replication writes, before compaction deletes it.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/5 * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    groups = DeclaredGroupsOperator()
    OffsetSyncsOperator.partial(task_id="offset_syncs", max_active_tis_per_dagrun=1, **PER_GROUP).expand(
        protection_group=groups.output
    )
