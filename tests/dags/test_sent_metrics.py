"""Tasks send what they find as Airflow sends its own metrics: real datagrams, and real requests to a collector."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from kafka_dr.watch_results import WatchResultStore
from support.installed_apart import installed
from support.mail_server import web_server

_PROJECT = Path(__file__).resolve().parents[2]


def task(folder: Path, settings: Mapping[str, str], *more: Path) -> str:
    """Run what a task does with metrics, and return what it logged.

    :param settings: of Airflow's section ``metrics``, or variables of the environment
    :param more: folders for Python
    """
    airflow = {
        f"AIRFLOW__METRICS__{name}" if not name.startswith("OTEL_EXPORTER_") else name: value
        for name, value in settings.items()
    }
    lab = {
        "KAFKA_DR_TOPOLOGY": str(_PROJECT / "include" / "topology.yaml"),
        "KAFKA_DR_LAB_HOME": str(folder),
        "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
        "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    folders = (*more, *(_PROJECT / name for name in ("include", "plugins", "tests")))
    path = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "AIRFLOW_HOME": str(folder / "airflow")}
    done = subprocess.run(
        [sys.executable, "-m", "support.looking_task"],
        env={**os.environ, **lab, **path, **airflow}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = WatchResultStore(folder / "evidence").read("orders", "health")
    assert kept is not None, done.stderr
    assert (kept.outcome, kept.totals) == ("failed", {"denies_added": 2})
    return done.stdout + done.stderr


def datagrams(folder: Path, **settings: str) -> dict[str, str]:
    """Return what a StatsD server on the loopback gets: by name the value with its type."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        on = {"STATSD_ON": "True", "STATSD_HOST": "127.0.0.1", "STATSD_PORT": str(server.getsockname()[1])}
        task(folder, {**on, **settings}, installed("statsd"))
        server.setblocking(False)
        found: dict[str, str] = {}
        while True:
            try:
                name, _, value = server.recv(65536).decode().partition(":")
            except BlockingIOError:
                return found
            found[name] = value


def test_plain_statsd_gets_a_name_for_each_series(tmp_path: Path) -> None:
    found = datagrams(tmp_path)
    assert found["airflow.kafka_dr.watch_outcome.orders.health.failed"] == "1.0|g"
    assert found["airflow.kafka_dr.watch_outcome.orders.health.ok"] == "0.0|g"
    assert found["airflow.kafka_dr.phase.orders.stable"] == "1.0|g"
    assert found["airflow.kafka_dr.active.orders.west"] == "0.0|g"
    assert found["airflow.kafka_dr.denies_added.orders"] == "2|c"
    assert found["airflow.kafka_dr.lag_seconds.orders"] == "0.5|g"
    assert found["airflow.kafka_dr.findings.orders.lag.deleted"] == "0.0|g"
    assert found["airflow.kafka_dr.step_seconds.orders.planned_failover.claim"] == "0.75|g"
    # What is not known is not sent: it would be shown as a number.
    assert not [name for name in found if "lag_bytes" in name or "replication_latency" in name]


@pytest.mark.long
def test_statsd_with_tags_gets_one_name_and_the_labels(tmp_path: Path) -> None:
    found = datagrams(tmp_path, STATSD_INFLUXDB_ENABLED="True")
    assert found["airflow.kafka_dr.watch_outcome,group=orders,watch=health,outcome=failed"] == "1.0|g"
    assert found["airflow.kafka_dr.step_seconds,group=orders,verb=planned_failover,step=claim"] == "0.75|g"


def test_an_opentelemetry_collector_gets_the_labels_as_attributes(tmp_path: Path) -> None:
    with web_server() as (bodies, port):
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        task(tmp_path, {"OTEL_ON": "True", **endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for body in bodies:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
                for point in (*metric.gauge.data_points, *metric.sum.data_points):
                    labels = frozenset((each.key, each.value.string_value) for each in point.attributes)
                    found[metric.name, labels] = point.as_double or point.as_int
    of_orders = ("group", "orders")
    assert found["airflow.kafka_dr.lag_seconds", frozenset({of_orders})] == 0.5
    assert found["airflow.kafka_dr.denies_added", frozenset({of_orders})] == 2
    assert found["airflow.kafka_dr.phase", frozenset({of_orders, ("phase", "stable")})] == 1
    assert found["airflow.kafka_dr.phase", frozenset({of_orders, ("phase", "switching")})] == 0


def test_a_look_counts_whatever_becomes_of_its_metrics(tmp_path: Path) -> None:
    """A client that is not installed, and a backend that cannot be made at all."""
    assert "Could not configure StatsClient" in task(tmp_path / "no_client", {"STATSD_ON": "True"})
    said = task(tmp_path / "wrong_port", {"STATSD_ON": "True", "STATSD_PORT": "x"}, installed("statsd"))
    assert "could not be sent as metrics" in said
