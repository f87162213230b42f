"""The failback. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, chain

from kafka_dr_airflow.operators.failback import FailbackAuditOperator, StrandedRecordsOperator
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.outcome import OutcomeOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.sensors.two_people import FailbackApprovalSensor
from kafka_dr_airflow.trigger_forms import declared, dry_run_param, reason_param

# After the claim a failback can only continue, or be abandoned by a person: it does not affect applications.
FORWARD: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=10)}

# No dagrun_timeout: copying everything again takes as long as it takes.
with DAG(
    dag_id="dr_failback",
    dag_display_name="DR 4: failback",
    description="Makes the old cluster a copy again after a disaster; keeps the records that only it holds.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "moves traffic"],
    params={
        "protection_group": declared().group_param(),
        "target": declared().cluster_param(
            title="Cluster",
            description="The cluster that becomes a copy again. Of several that are diverged one has to be chosen.",
            default="the only one that is diverged",
        ),
        "mode": Param(
            "quarantine",
            type="string",
            enum=["quarantine", "rebuild"],
            values_display={
                "quarantine": "Quarantine: delete nothing, leave stranded records where they are",
                "rebuild": "Rebuild: delete the old topics and copy everything again (two people have to approve)",
            },
            title="Mode",
            description="How the old cluster becomes a copy again. Preflight says when quarantine is not possible.",
        ),
        "rescue": Param(
            "keep",
            type="string",
            enum=["keep", "republish"],
            values_display={
                "keep": "Keep them with the evidence, outside both clusters",
                "republish": "Keep them, and publish them again on the active cluster",
            },
            title="Stranded records",
            description="What to do with the records that were never replicated.",
        ),
        "late": Param(
            "declared",
            type="string",
            enum=["declared", "deliver", "stranded_topic", "hold"],
            values_display={
                "declared": "What the topology says of each topic",
                "deliver": "Let them arrive in their copies",
                "stranded_topic": "Publish them to topics of their own, <topic>.stranded",
                "hold": "Deliver them nowhere; they are kept with the evidence",
            },
            title="Late records",
            description="Where copies have other names than their originals: what becomes of the uncopied records.",
        ),
        "dry_run": dry_run_param("Lists the stranded records, runs every check and shows what each step would do."),
        "reason": reason_param("Why now. Shown to the approvers and kept with the evidence."),
    },
) as dag:
    stranded_records = StrandedRecordsOperator()
    preflight = FailoverStepOperator(step="preflight", number=1, verb="failback")
    approval = FailbackApprovalSensor(step="approval", number=2)
    second_approval = FailbackApprovalSensor(step="second_approval", number=3)
    claim = FailoverStepOperator(step="claim", number=4, verb="failback")
    rescue = FailoverStepOperator(
        step="rescue", number=5, verb="failback", execution_timeout=timedelta(hours=6), **FORWARD
    )
    prepare_old_cluster = FailoverStepOperator(step="prepare_old_cluster", number=6, verb="failback", **FORWARD)
    reverse_flow = FailoverStepOperator(step="reverse_flow", number=7, verb="failback", **FORWARD)
    # It fails when nothing is copied any more; while records are copied, it may take as long as it takes.
    catch_up = FailoverStepOperator(
        step="catch_up", number=8, verb="failback", execution_timeout=timedelta(hours=24), **FORWARD
    )
    checksum_audit = FailbackAuditOperator()
    settle = FailoverStepOperator(step="settle", number=9, verb="failback", **FORWARD)
    report = FailoverStepOperator(step="report", number=10, verb="failback", **FORWARD)
    outcome = OutcomeOperator()

    # Nobody decides before the records that only the old cluster holds are known, and kept.
    chain(stranded_records, preflight, approval, second_approval, claim)
    # Nothing is deleted before the stranded records are kept, nothing is copied before the topics are ready, and the
    # old cluster counts as a copy only when all of it was compared.
    chain(claim, rescue, prepare_old_cluster, reverse_flow, catch_up, checksum_audit, settle, report)
    # Whatever became of the others. Airflow judges the run by this one: a run that was rejected is not green.
    report >> outcome
