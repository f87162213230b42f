"""The release of a group. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, chain

from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.sensors.adoption import ReleaseApprovalSensor
from kafka_dr_airflow.trigger_forms import declared, dry_run_param, reason_param

# After the claim a release can only continue, or be abandoned by a person: it does not affect applications.
FORWARD: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=10)}

with DAG(
    dag_id="dr_un_adopt",
    dag_display_name="DR 8: un-adopt",
    description="Ends the protection of a group, or lets one standby leave it.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "set-up"],
    params={
        "protection_group": declared().group_param(),
        "target": declared().cluster_param(
            title="Only this standby",
            description="The standby that leaves the group, which stays adopted. Empty: the whole group is released.",
            default="the whole group",
        ),
        "override": Param(
            None,
            type=["null", "string"],
            maxLength=500,
            title="Known to be off",
            description="Only of a standby that is gone for ever: name its cluster, and how you know that it is off.",
        ),
        "hand_back_to": Param(
            "existing",
            type="string",
            enum=["existing", "own_flow"],
            values_display={
                "existing": "What copied it before it was adopted (existing_replication of the topology)",
                "own_flow": "This project's flow, which nobody looks after then",
            },
            title="Copied afterwards by",
            description="What copies the group's topics when it is released.",
        ),
        "dry_run": dry_run_param("Runs every check and shows what each step would do. Changes nothing."),
        "reason": reason_param("Why. Shown to the approvers and kept with the evidence."),
    },
) as dag:
    preflight = FailoverStepOperator(step="preflight", number=1, verb="un_adopt")
    approval = ReleaseApprovalSensor(number=2)
    claim = FailoverStepOperator(step="claim", number=3, verb="un_adopt")
    stop_flow = FailoverStepOperator(step="stop_flow", number=4, verb="un_adopt", **FORWARD)
    hand_back = FailoverStepOperator(step="hand_back", number=5, verb="un_adopt", **FORWARD)
    settle = FailoverStepOperator(step="settle", number=6, verb="un_adopt", **FORWARD)
    report = FailoverStepOperator(step="report", number=7, verb="un_adopt", **FORWARD)
    outcome = OutcomeOperator()

    chain(preflight, approval, claim, stop_flow, hand_back, settle, report)
    # Whatever became of the others. Airflow judges the run by this one: a run that was rejected is not green.
    report >> outcome
