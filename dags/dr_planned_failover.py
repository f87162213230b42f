"""The planned failover. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, chain

from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.operators.roll_back import RollBackOperator
from kafka_dr_airflow.operators.switch import SwitchOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor
from kafka_dr_airflow.trigger_forms import begin_params, declared, dry_run_param, reason_param

# After the point of no return a run can only go forward, so its steps are tried again before a person is called.
FORWARD: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=5)}

# No dagrun_timeout: Airflow would mark the pending tasks skipped, roll_back among them. No max_active_runs: what keeps
# two runs apart is the claim in the DR register, for each protection group.
with DAG(
    dag_id="dr_planned_failover",
    dag_display_name="DR 2: planned failover",
    description="Moves a protection group to its standby, with proof at every step; both clusters must be healthy.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "on call", "moves traffic"],
    params={
        "protection_group": declared().group_param(),
        "source": declared().cluster_param(
            title="From",
            description="The cluster that applications write to now. The run stops if the register names another.",
            default="the active cluster",
        ),
        "target": declared().target_param(),
        **begin_params(),
        "dry_run": dry_run_param(
            "Runs every check and shows what each step would do. Changes nothing and asks nobody."
        ),
        "reason": reason_param("Why now. Shown to the approvers and kept with the evidence."),
    },
) as dag:
    preflight = FailoverStepOperator(step="preflight", number=1)
    approval = ManualApprovalSensor(number=2)
    switch = SwitchOperator(numbers=(3, 9))
    verify = FailoverStepOperator(step="verify", number=10, **FORWARD)
    start_reverse_flow = FailoverStepOperator(step="start_reverse_flow", number=11, **FORWARD)
    report = FailoverStepOperator(step="report", number=12, **FORWARD)
    roll_back = RollBackOperator(retries=5, retry_delay=timedelta(seconds=5))
    outcome = OutcomeOperator()

    # Nothing is claimed, let alone changed, before somebody has approved it.
    chain(preflight, approval, switch, verify, start_reverse_flow, report)
    # Runs as soon as one of these failed; the register says whether something is undone. After verify, too: a switch
    # that a person marks as success has switched nothing, and verify finds that out. After report, for Airflow's grid:
    # it shows the tasks in this order.
    [switch, verify, report] >> roll_back
    # Whatever became of the others. Airflow judges the run by this one: a run that was rejected is not green.
    [report, roll_back] >> outcome
