"""Ending a run that died. What it does, and when, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from kafka_dr_airflow.operators.resume import ResumeOperator
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared, reason_param

with DAG(
    dag_id="dr_resume",
    dag_display_name="DR 5: resume",
    description="Finishes or abandons a run that died, from the DR register alone.",
    doc_md=runbook(__file__),
    schedule=None,
    catchup=False,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "moves traffic"],
    params={
        "protection_group": declared().group_param(),
        "decision": Param(
            type="string",
            enum=["finish", "abandon"],
            values_display={
                "finish": "Finish: do the steps that are left",
                "abandon": "Abandon: undo what was done (only before the point of no return)",
            },
            title="Decision",
            description="What to do with the run that holds the group.",
        ),
        "run": Param(
            None,
            type=["null", "string"],
            pattern=r"^\S+$",
            title="Run",
            description="The run that died, so that no other run is ended. Left empty: the run that holds the group.",
        ),
        "confirmed": Param(
            False,
            type="boolean",
            title="I made sure that it is dead",
            description="Needed only if a process of the run showed life less than 60 seconds ago.",
        ),
        "reason": reason_param("How you know that the run is dead. Kept with the evidence."),
    },
) as dag:
    ResumeOperator()
