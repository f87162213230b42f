"""Readiness. What is asked, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

import logging

from airflow.sdk import DAG, AssetOrTimeSchedule, CronTriggerTimetable

from kafka_dr_airflow.airflow_settings import warn_of_settings
from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, RUN_ENDED, ReadinessRound, RedGroupOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

# Readiness shows the same, but somebody who has just installed this reads the log of the DAG processor.
warn_of_settings(logging.getLogger(__name__))

with DAG(
    dag_id="dr_readiness",
    dag_display_name="DR 1: readiness",
    description="Asks every 10 minutes, and after each run, whether each group could fail over now, and at what cost.",
    doc_md=runbook(__file__),
    # A run changes what was asked before it: the group is asked again as soon as health sees that the run has ended.
    schedule=AssetOrTimeSchedule(
        timetable=CronTriggerTimetable(declared().schedule("readiness"), timezone="UTC"), assets=[RUN_ENDED]
    ),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "on call", "watches"],
) as dag:
    look = ReadinessRound()
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=look.output)
