"""Adoption. What it does, and what to do when it stops, is in the runbook of the same name."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from kafka_dr_airflow.operators.adopt import AdoptOperator
from kafka_dr_airflow.trigger_forms import declared

with DAG(
    dag_id="dr_adopt",
    dag_display_name="DR: adopt",
    description="Writes the first DR register record of a protection group and fences its standby.",
    doc_md=str(Path(__file__).with_suffix(".md")),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "set-up"],
    params={"protection_group": declared().group_param()},
) as dag:
    AdoptOperator()
