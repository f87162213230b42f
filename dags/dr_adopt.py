"""Adoption. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, chain

from kafka_dr_airflow.operators.adopt import AdoptOperator
from kafka_dr_airflow.operators.failover_step import COMPARED, FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.operators.roll_back import RollBackOperator
from kafka_dr_airflow.operators.switch import SwitchOperator
from kafka_dr_airflow.operators.take_over import AdoptionWayOperator, CopyAuditOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.sensors.adoption import TakeOverApprovalSensor
from kafka_dr_airflow.trigger_forms import declared, dry_run_param

# No dagrun_timeout: Airflow would mark the pending tasks skipped, give_back among them.
with DAG(
    dag_id="dr_adopt",
    dag_display_name="DR 8: adopt",
    description="Puts a protection group under the DR register, and takes over the replication that it has already.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "set-up"],
    params={
        "protection_group": declared().group_param(),
        "dry_run": dry_run_param(
            "Runs every check and shows what would be done. A take over also audits the copy, which only reads."
        ),
        "reason": Param(
            None,
            type=["null", "string"],
            maxLength=500,
            title="Reason",
            description="Shown to the approvers of a take over and kept with the evidence.",
        ),
        "create_canary_topic": Param(
            False,
            type="boolean",
            title="Create the canary topic",
            description="If the group's canary topic is missing, create it. Otherwise a missing one is refused.",
        ),
    },
) as dag:
    plan = AdoptionWayOperator(ways={"adopt": ["adopt"], "take_over": ["audit"]})
    adopt = AdoptOperator()
    audit = CopyAuditOperator()
    preflight = FailoverStepOperator(step="preflight", number=1, verb="take_over", execution_timeout=COMPARED)
    approval = TakeOverApprovalSensor(number=2)
    take_over = SwitchOperator(numbers=(3, 7), verb="take_over", task_id="take_over", task_display_name="3-7 take_over")
    report = FailoverStepOperator(
        step="report", number=8, verb="take_over", retries=3, retry_delay=timedelta(seconds=5)
    )
    give_back = RollBackOperator(verb="take_over", task_id="give_back", retries=5, retry_delay=timedelta(seconds=5))
    outcome = OutcomeOperator()

    # Either nothing replicates the group yet, or what does is taken over.
    plan >> [adopt, audit, outcome]
    # Nothing is claimed, let alone stopped, before somebody has approved it with the faults that the audit found.
    chain(audit, preflight, approval, take_over, report)
    # Runs when one of these has failed: what was there is restored, unless the group is adopted already.
    [take_over, report] >> give_back
    # Whatever became of the others. Airflow judges the run by this one: a run that was rejected is not green.
    [report, give_back] >> outcome
