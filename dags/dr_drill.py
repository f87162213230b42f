"""Drills. What they do, and what to do when one is red, is in the runbook of the same name."""

from __future__ import annotations

from airflow.sdk import DAG, Param, chain

from kafka_dr_airflow.operators.drill import (
    DrillBeginOperator,
    DrillOperator,
    DrillResultOperator,
    DrillTeardownOperator,
)
from kafka_dr_airflow.operators.rounds import RUN_ENDED
from kafka_dr_airflow.runbook import runbook
from kafka_dr_airflow.trigger_forms import declared

# No dagrun_timeout: Airflow would skip the teardown.
with DAG(
    dag_id="dr_drill",
    dag_display_name="DR 6: drill",
    description="Practises a failover on topics of the drill's own, under load, and measures it; then removes them.",
    doc_md=runbook(__file__),
    schedule=declared().drill_schedule(),
    catchup=False,
    max_active_runs=1,
    max_consecutive_failed_dag_runs=0,  # a red run never pauses this DAG
    tags=["kafka-dr", "practice"],
    params={
        "protection_group": declared().drilled_param(),
        "standby": declared().cluster_param(
            title="To",
            description="The standby that the drill goes to. All others are left alone.",
            default="the one that was drilled longest ago",
        ),
        "kind": Param(
            "planned",
            type="string",
            enum=["planned", "unplanned"],
            title="Kind",
            description="Unplanned cuts the drill, and nothing else, off from the source. Both go there and back.",
        ),
    },
) as dag:
    begin = DrillBeginOperator()
    # It succeeds whether or not the drill passed: readiness then shows its result.
    teardown = DrillTeardownOperator(outlets=[RUN_ENDED])
    chain(begin, DrillOperator(), teardown, DrillResultOperator())
    # Airflow runs such a task also if somebody marks the whole run as failed.
    teardown.as_teardown(setups=begin)
