"""A DAG as somebody else has it: a report that runs as soon as a hub holds what every spoke had at a time."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, task

from kafka_dr_airflow.sensors.spokes_complete import SpokesCompleteSensor

with DAG(
    dag_id="report_of_the_day",
    schedule=None,
    params={
        "hub": Param("north", type="string"),
        "up_to": Param("2026-01-01T00:00:00+00:00", type="string", format="date-time"),
    },
):
    complete = SpokesCompleteSensor(
        task_id="complete",
        block="orders",
        hub="{{ params.hub }}",
        up_to="{{ params.up_to }}",
        poke_interval=15.0,
        timeout=timedelta(hours=6),
    )

    @task
    def report(up_to: str) -> str:
        """Read what the hub holds."""
        return f"reported up to {up_to}"

    report(complete.output)
