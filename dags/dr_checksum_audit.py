"""Checksum audit. What it proves, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, AssetAlias, Param, chain

from kafka_dr_airflow.operators.audit_shares import AuditResultsOperator, AuditSharesOperator, per_share
from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, RedGroupOperator
from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_checksum_audit",
    dag_display_name="DR 7: checksum audit",
    description="Proves record by record that the copy equals the original, and up to which offset.",
    doc_md=runbook(__file__),
    schedule=declared().schedule("checksum"),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={
        "flow": declared().flow_param(),
        "topics": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": r"^[A-Za-z0-9._-]{1,249}$"},
            title="Topics",
            description="Only these topics. Left empty: all topics of the group.",
        ),
        "full": Param(
            False,
            type="boolean",
            title="From the beginning",
            description="Reads everything that both clusters still hold. Otherwise only records since the last audit.",
        ),
        "since": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="Since",
            description="Only records with this timestamp or a later one.",
        ),
        "until": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="Until",
            description="Only records with an earlier timestamp.",
        ),
        "offsets": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": r"^.+-\d+:\d*-\d*$"},
            title="Offsets",
            description="Only these source offsets: TOPIC-PARTITION:START-END. Leave topics and times empty then.",
        ),
    },
) as dag:
    shares = AuditSharesOperator(audit="checksum")
    audits = SharedAuditsOperator.partial(
        task_id="checksum_audit",
        audit="checksum",
        outlets=[AssetAlias("kafka_dr_checksum_audit")],
        # The first audit of a large group reads all of it; later audits read only new records.
        **per_share(each=timedelta(minutes=20), longest=timedelta(hours=6)),
    ).expand(protection_groups=shares.output)
    results = AuditResultsOperator(audit="checksum")
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=results.output)
    chain(shares, audits, results)
    shares >> results
