"""The tasks of the config sync for one protection group; a DAG maps them over all of them."""

from __future__ import annotations

from airflow.sdk import chain, task_group

from kafka_dr_airflow.operators.config_sync import ConfigApplyOperator, ConfigGateOperator, ConfigPlanOperator
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
