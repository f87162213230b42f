"""The config sync. What is compared and changed, and what to do when it is red, is in the runbook of that name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG, Param, chain, task_group

from kafka_dr_airflow.operators.config_sync import ConfigApplyOperator, ConfigGateOperator, ConfigPlanOperator
from kafka_dr_airflow.operators.outcome import ConfigOutcomeOperator
from kafka_dr_airflow.operators.per_group import DeclaredGroupsOperator
from kafka_dr_airflow.sensors.config_approval import ConfigApprovalSensor


@task_group(group_id="flow", prefix_group_id=False)
def config_sync_flow(protection_group: str) -> None:
    """Plan, apply what is safe, judge; ask about the rest and apply that."""
    plan = ConfigPlanOperator(protection_group=protection_group)
    apply_safe = ConfigApplyOperator(protection_group=protection_group, approved=False)
    configured = ConfigGateOperator(protection_group=protection_group)
    approval = ConfigApprovalSensor(protection_group=protection_group)
    apply = ConfigApplyOperator(protection_group=protection_group, approved=True)

    # What is asked about is what is left when the safe changes are made: else the answer would be to an old plan.
    chain(plan, apply_safe, approval, apply)
    # Judged whatever became of them, and without waiting for a person.
    apply_safe >> configured


# Runs may overlap: one that waits for a person does not keep the next one from planning. What keeps two of them from
# changing a standby at the same time is a lock in the DR register.
with DAG(
    dag_id="dr_config_sync",
    dag_display_name="DR: config sync",
    description="Keeps the standby's topics, ACLs, quotas and users equal to the active cluster's, by a plan.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule="*/10 * * * *",
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
    groups = DeclaredGroupsOperator()
    # Airflow judges the run by the last task: one whose plan was rejected is not green.
    config_sync_flow.expand(protection_group=groups.output) >> ConfigOutcomeOperator()
