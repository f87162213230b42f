"""The config sync. What is compared and changed, and what to do when it is red, is in the runbook of that name."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from kafka_dr_airflow.operators.config_sync import ConfigSyncRound, ask_and_apply
from kafka_dr_airflow.operators.outcome import ConfigOutcomeOperator
from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, RedGroupOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

# Runs may overlap: one that waits for a person does not keep the next one from planning. What keeps two of them from
# changing a standby at the same time is a lock in the DR register.
with DAG(
    dag_id="dr_config_sync",
    dag_display_name="DR 7: config sync",
    description="Keeps the standby's topics, ACLs, quotas and users equal to the active cluster's, by a plan.",
    doc_md=runbook(__file__),
    schedule=declared().schedule("config_sync"),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=16,
    tags=["kafka-dr", "watches"],
    params={
        "accept_cluster_ids": Param(
            False,
            type="boolean",
            title="Accept new cluster ids",
            description="A cluster was replaced on purpose: the cluster ids in the topology are right from now on.",
        ),
    },
) as dag:
    look = ConfigSyncRound()
    red = RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=look.output)
    # Airflow judges the run by the last task: one whose plan was rejected is not green.
    [red, ask_and_apply.expand(row=look.output)] >> ConfigOutcomeOperator()
