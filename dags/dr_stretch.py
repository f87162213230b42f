"""Stretch clusters. What is judged, and what to do when one is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_dr_airflow.operators.declared_names import DeclaredNamesOperator
from kafka_dr_airflow.operators.stretch import PER_CLUSTER, StretchOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_stretch",
    dag_display_name="DR 7: stretch",
    description="Says of a cluster over several sites what the loss of a site would do; changes nothing.",
    doc_md=runbook(__file__),
    schedule=declared().stretch_schedule(),
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    max_active_runs=1,
    tags=["kafka-dr", "audits"],
    params={"cluster": declared().stretch_param()},
) as dag:
    clusters = DeclaredNamesOperator(
        task_id="clusters", parameter="cluster", section="stretch_clusters", kind="stretch cluster"
    )
    StretchOperator.partial(task_id="look", **PER_CLUSTER).expand(cluster=clusters.output)
