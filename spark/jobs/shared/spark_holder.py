"""The process of a shared application that starts Spark, keeps it, and cancels jobs whose audit has ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from jobs.session import cause_of, spark_session

#: Jobs of several audits share Spark's cores evenly. Without this, the jobs of one wait for all that began before.
_SETTINGS: Mapping[str, str] = {
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": (Path(__file__).with_name("evenly.xml")).as_uri(),
}
STARTED = "started"
#: After so many seconds jobs are cancelled again: an audit that ended may have asked for one right before, which Spark
#: begins only after the first time, and which would keep its cores from the other audits.
_AGAIN_SECONDS = 1.0
#: Starts Spark, says so, and cancels the jobs of each tag that it is sent.
Hold = Callable[[Connection, int], None]


def hold(orders: Connection, count: int) -> None:
    """Start Spark, say so or why not, and cancel the jobs of each tag that is sent, until nothing more can be sent."""
    try:
        with spark_session(f"audits of {count} flows", settings=_SETTINGS) as session:
            orders.send(STARTED)
            ended: list[str] = []
            while (tag := _next(orders)) is not None:
                ended += [tag] if tag else []
                for each in ended:
                    session.sparkContext.cancelJobsWithTag(each)
    except Exception as error:  # noqa: BLE001 - whatever it is, every audit has to know
        orders.send(f"Spark did not start: {cause_of(error)}")
        os._exit(1)


def _next(orders: Connection) -> str | None:
    """Return the next tag, empty if none came for a while; ``None`` if no more can come."""
    try:
        return str(orders.recv()) if orders.poll(_AGAIN_SECONDS) else ""
    except (EOFError, OSError):
        return None
