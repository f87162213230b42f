"""Loaded by every Airflow process of the lab as ``airflow_local_settings``: makes it quick on a small machine."""

from __future__ import annotations

import importlib
import sqlite3
import sys
from typing import Any

from sqlalchemy import Engine, create_engine, event

# A task runs in a fork of a fork of the scheduler: what the scheduler has imported, no task imports again. So a lab
# that runs does not notice changes of plugins and core: `down` and `up` load them. DAG files are read by every task.
PRELOADED = (
    "confluent_kafka.admin",
    "kafka.admin",
    "httpx",
    "pydantic",
    "yaml",
    "jinja2",
    "airflow.sdk",
    "airflow.providers.apache.kafka.hooks.base",
    "airflow.providers.apache.spark.operators.spark_submit",
    "airflow.providers.standard.operators.hitl",
    "kafka_dr.failover",
    "kafka_dr_airflow.links",
    "kafka_dr_airflow.operators.failover_step",
    "kafka_dr_airflow.operators.roll_back",
    "kafka_dr_airflow.sensors.manual_approval",
    "kafka_dr_airflow.world",
)
BUSY_SECONDS = 30


def preload() -> None:
    """Import what tasks would each have to import."""
    for name in PRELOADED:
        importlib.import_module(name)


if "scheduler" in sys.argv:
    preload()


def create_metadata_engine(
    sql_alchemy_conn: str, *, engine_args: dict[str, Any], connect_args: dict[str, Any]
) -> Engine:
    """Make the engine of Airflow's database: writers wait for each other, commits do not wait for the disk."""
    connect_args = {"timeout": BUSY_SECONDS, **connect_args}
    engine = create_engine(sql_alchemy_conn, connect_args=connect_args, **engine_args)

    @event.listens_for(engine, "connect")
    def _relax(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    return engine
