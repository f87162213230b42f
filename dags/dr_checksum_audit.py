"""Checksum audit. What it proves, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, AssetAlias, Param

from kafka_dr_airflow.operators.per_group import DeclaredGroupsOperator
from kafka_dr_airflow.operators.spark_audit import PER_FLOW, SparkAuditOperator
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_checksum_audit",
    dag_display_name="DR: checksum audit",
    description="Proves record by record that the copy equals the original, and up to which offset.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/15 * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={
        "flow": declared().flow_param(),
        "topics": Param(
            None,
            type=["null", "array"],
            items={"type": "string"},
            title="Topics",
            description="Only these topics. Left empty: all topics of the group.",
        ),
        "full": Param(
            False,
            type="boolean",
            title="From the beginning",
            description="Reads everything that both clusters still hold. Otherwise only records since the last audit.",
        ),
        "since": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="Since",
            description="Only records with this timestamp or a later one.",
        ),
        "until": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="Until",
            description="Only records with an earlier timestamp.",
        ),
        "offsets": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": r"^.+-\d+:\d*-\d*$"},
            title="Offsets",
            description="Only these source offsets: TOPIC-PARTITION:START-END. Leave topics and times empty then.",
        ),
    },
) as dag:
    groups = DeclaredGroupsOperator()
    # The first audit of a large group reads all of it; later audits read only new records.
    audit = SparkAuditOperator.partial(
        task_id="checksum_audit",
        audit="checksum",
        outlets=[AssetAlias("kafka_dr_checksum_audit")],
        execution_timeout=timedelta(hours=6),
        **PER_FLOW,
    ).expand(protection_group=groups.output)
