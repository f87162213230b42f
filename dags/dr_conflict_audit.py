"""Conflicts between members. What is judged, and what to do when a task is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from kafka_dr_airflow.operators.conflicts import PER_BLOCK, ConflictAuditOperator
from kafka_dr_airflow.operators.declared_names import DeclaredNamesOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_conflict_audit",
    dag_display_name="DR 7: conflict audit",
    description="Finds records of one key that two members took before either had the other's; changes nothing.",
    doc_md=runbook(__file__),
    schedule=declared().conflict_schedule(),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={
        "block": declared().block_param(),
        "topic": Param(
            None,
            type=["null", "string"],
            pattern=r"^[A-Za-z0-9._-]{1,249}$",
            title="Topic",
            description="Only this topic, read from the beginning; nothing is kept. Left empty: all topics.",
        ),
        "full": Param(
            False,
            type="boolean",
            title="From the beginning",
            description="Reads everything that the members still hold. Otherwise only records since the last audit.",
        ),
    },
) as dag:
    blocks = DeclaredNamesOperator(
        task_id="blocks",
        parameter="block",
        section="conflict_blocks",
        kind="block whose conflicts are audited",
        add="conflicts to a block of active_active",
    )
    ConflictAuditOperator.partial(task_id="audit", **PER_BLOCK).expand(block=blocks.output)
