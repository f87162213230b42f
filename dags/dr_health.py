"""Health. What is checked and fenced, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG, AssetAlias

from kafka_dr_airflow.operators.health_round import HealthRound
from kafka_dr_airflow.operators.proposed_failover import ProposalOperator
from kafka_dr_airflow.operators.rounds import HEALTH_LOOKED, PER_RED_GROUP, SOON, WITHIN_THE_MINUTE, RedGroupOperator
from kafka_dr_airflow.runbook import runbook

with DAG(
    dag_id="dr_health",
    dag_display_name="DR 7: health",
    description="Checks every minute that each cluster is what the DR register says; fences a cluster that returns.",
    doc_md=runbook(__file__),
    schedule="* * * * *",
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "watches"],
) as dag:
    look = HealthRound(outlets=[HEALTH_LOOKED, AssetAlias("kafka_dr_run_ended")], **SOON)
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=look.output)
    ProposalOperator.partial(
        task_id="propose", trigger_dag_id="dr_unplanned_failover", logical_date=None, **WITHIN_THE_MINUTE
    ).expand(row=look.output)
