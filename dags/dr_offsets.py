"""Offsets. What the preview shows, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, OffsetsRound, RedGroupOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_offsets",
    dag_display_name="DR 7: offsets",
    description="Shows where each consumer group would resume after a switch, and what it would read again.",
    doc_md=runbook(__file__),
    schedule=declared().schedule("offsets"),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
) as dag:
    look = OffsetsRound()
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=look.output)
