"""The unplanned failover. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, chain

from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.operators.roll_back import RollBackOperator
from kafka_dr_airflow.operators.switch import SwitchOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.sensors.two_people import UnplannedApprovalSensor
from kafka_dr_airflow.trigger_forms import begin_params, declared, dry_run_param, reason_param

VERB: Any = "unplanned_failover"
# After the point of no return a run can only go forward, so its steps are tried again before a person is called.
FORWARD: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=2)}

# No dagrun_timeout: Airflow would mark the pending tasks skipped, roll_back among them. No max_active_runs: what keeps
# two runs apart is the claim in the DR register, for each protection group.
with DAG(
    dag_id="dr_unplanned_failover",
    dag_display_name="DR 3: unplanned failover",
    description="Moves a protection group to its standby when the active cluster is down, without waiting for it.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "on call", "moves traffic"],
    params={
        "protection_group": declared().group_param(),
        "source": declared().cluster_param(
            title="From",
            description="The cluster that is down. The run stops if the DR register names another one as active.",
            default="the active cluster",
        ),
        "target": declared().target_param(),
        **begin_params(),
        "override": Param(
            None,
            # Airflow's form asks for whatever may not be null: an empty text would have to be filled in.
            type=["null", "string"],
            maxLength=500,
            title="Override",
            description="Why to fail over although the topology's rule is not met (too few vantages see the cluster "
            "down, or it answers). Shown to the approvers and kept with the evidence. Left empty: the rule decides."
            f"{declared().override_hint()}",
        ),
        "acknowledged": Param(
            False,
            type="boolean",
            title="I know that the group was moved a short while ago",
            description="Needed during the hold-down after another move, so that a group is not moved back and forth.",
        ),
        "dry_run": dry_run_param(
            "Runs all probes twice and shows what each step would do. Changes nothing and asks nobody."
        ),
        "reason": reason_param("What has happened. Shown to the approvers and kept with the evidence."),
    },
) as dag:
    gather_evidence = FailoverStepOperator(step="gather_evidence", number=1, verb=VERB)
    approval = UnplannedApprovalSensor(step="approval", number=2)
    second_approval = UnplannedApprovalSensor(step="second_approval", number=3)
    switch = SwitchOperator(numbers=(4, 8), verb=VERB)
    verify = FailoverStepOperator(step="verify", number=9, verb=VERB, **FORWARD)
    settle = FailoverStepOperator(step="settle", number=10, verb=VERB, **FORWARD)
    report = FailoverStepOperator(step="report", number=11, verb=VERB, **FORWARD)
    roll_back = RollBackOperator(verb=VERB, retries=5, retry_delay=timedelta(seconds=5))
    outcome = OutcomeOperator()

    # Nothing is claimed, let alone changed, before everybody who is needed has approved it.
    chain(gather_evidence, approval, second_approval, switch, verify, settle, report)
    # Runs as soon as one of these failed; the register says whether something is undone. After verify, too: a switch
    # that a person marks as success has switched nothing, and verify finds that out. After report, for Airflow's grid:
    # it shows the tasks in this order.
    [switch, verify, report] >> roll_back
    # Whatever became of the others. Airflow judges the run by this one: a run that was rejected is not green.
    [report, roll_back] >> outcome
