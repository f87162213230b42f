"""Lag audit. What it measures, and what to do when a group is red, is in the runbook of the same name."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, AssetAlias, chain

from kafka_dr_airflow.operators.audit_shares import AuditResultsOperator, AuditSharesOperator, per_share
from kafka_dr_airflow.operators.rounds import PER_RED_GROUP, RedGroupOperator
from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_lag_audit",
    dag_display_name="DR 7: lag audit",
    description="Measures the lag of each flow and its consumer groups, and whether they make progress.",
    doc_md=runbook(__file__),
    schedule=declared().schedule("lag"),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={"flow": declared().flow_param()},
) as dag:
    shares = AuditSharesOperator(audit="lag")
    audits = SharedAuditsOperator.partial(
        task_id="lag_audit",
        audit="lag",
        outlets=[AssetAlias("kafka_dr_lag_audit")],
        **per_share(each=timedelta(minutes=5), longest=timedelta(minutes=20)),
    ).expand(protection_groups=shares.output)
    results = AuditResultsOperator(audit="lag")
    RedGroupOperator.partial(task_id="red", **PER_RED_GROUP).expand(row=results.output)
    chain(shares, audits, results)
    shares >> results
