"""Observed flows. What is looked at, and what to do when one is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_dr_airflow.operators.declared_names import DeclaredNamesOperator
from kafka_dr_airflow.operators.observe import PER_FLOW, ObserveOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_observe",
    dag_display_name="DR 7: observe",
    description="Says of replication that somebody else runs what a failover by it would cost; changes nothing.",
    doc_md=runbook(__file__),
    schedule=declared().observe_schedule(),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={"flow": declared().observed_param()},
) as dag:
    flows = DeclaredNamesOperator(task_id="flows", parameter="flow", section="observed_flows", kind="observed flow")
    ObserveOperator.partial(task_id="look", **PER_FLOW).expand(flow=flows.output)
