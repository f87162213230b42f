"""Notifications. Who is notified of what, and what to do when a notifier is red, is in the runbook of the same name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.notify import EACH_NOTIFIER, DeclaredNotifiersOperator, NotifyOperator

with DAG(
    dag_id="dr_notifications",
    dag_display_name="DR: notifications",
    description="Sends every minute what changed, once by each notifier of the topology.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="* * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    notifiers = DeclaredNotifiersOperator()
    NotifyOperator.partial(task_id="notify", **EACH_NOTIFIER).expand(notifier=notifiers.output)
