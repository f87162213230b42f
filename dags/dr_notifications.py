"""Notifications. Who is notified of what, and what to do when a notifier is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG, AssetOrTimeSchedule, CronTriggerTimetable

from kafka_dr_airflow.operators.notify import EACH_NOTIFIER, NotifiersWithNewsOperator, NotifyOperator
from kafka_dr_airflow.operators.rounds import HEALTH_LOOKED
from kafka_dr_airflow.runbook import runbook

with DAG(
    dag_id="dr_notifications",
    dag_display_name="DR 7: notifications",
    description="Sends what changed, after each look of health and every minute, once by each declared notifier.",
    doc_md=runbook(__file__),
    # A task of dr_health would hold up its next look. The clock sends what others saw, also while dr_health is paused.
    schedule=AssetOrTimeSchedule(timetable=CronTriggerTimetable("* * * * *", timezone="UTC"), assets=[HEALTH_LOOKED]),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    notifiers = NotifiersWithNewsOperator()
    NotifyOperator.partial(task_id="notify", **EACH_NOTIFIER).expand(notifier=notifiers.output)
