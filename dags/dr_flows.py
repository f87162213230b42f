"""Flows. What is compared and fixed, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, FlowsRound, RedGroupOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_flows",
    dag_display_name="DR 7: flows",
    description="Keeps the flows as the DR register asks, and checks that replication makes progress.",
    doc_md=runbook(__file__),
    schedule=declared().schedule("flows"),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    look = FlowsRound()
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=look.output)
