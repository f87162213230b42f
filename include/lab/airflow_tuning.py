"""Loaded by every Airflow process of the lab as ``airflow_local_settings``: makes it quick on a small machine."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from anyio import to_thread
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
    "kafka_dr.verbs.ask_approval",
    "kafka_dr.verbs.roll_back",
    "kafka_dr.verbs.switch",
    "kafka_dr_airflow.links",
    "kafka_dr_airflow.operators.failover_step",
    "kafka_dr_airflow.operators.outcome",
    "kafka_dr_airflow.operators.roll_back",
    "kafka_dr_airflow.operators.switch",
    "kafka_dr_airflow.sensors.two_people",
    "kafka_dr_airflow.task_clients",
)
BUSY_SECONDS = 30


def preload() -> None:
    """Import what tasks would each have to import."""
    for name in PRELOADED:
        importlib.import_module(name)


def log_in_threads() -> None:
    """Let Airflow's API write its audit log in threads; has to come before the API itself is imported.

    Airflow 3.3 writes it from the event loop. With SQLite that stops everything when another request holds the
    database: it needs the loop to let go, and the loop waits for the database until that gives up ("database is
    locked", 500, and a scheduler that ends).
    """
    from airflow.api_fastapi.logging import decorators

    make = decorators.action_logging

    def action_logging(event: str | None = None) -> Callable[..., Coroutine[Any, Any, None]]:
        log_action = make(event)

        @wraps(log_action)
        async def in_a_thread(**given: Any) -> None:
            await given["request"].body()  # it arrives in this loop, and is kept
            await to_thread.run_sync(lambda: asyncio.run(log_action(**given)))

        # What has to be given is read from here; the names in it are known in Airflow's module alone.
        in_a_thread.__signature__ = inspect.signature(log_action, eval_str=True)  # type: ignore[attr-defined]
        return in_a_thread

    decorators.action_logging = action_logging


def prepare(process: str) -> None:
    """Do what helps one of Airflow's processes, before it begins.

    :param process: its name on Airflow's command line
    """
    if process == "scheduler":
        preload()
    if process == "api-server":
        log_in_threads()


prepare("".join(sys.argv[1:2]))


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
