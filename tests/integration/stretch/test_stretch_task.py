"""The task of dr_stretch on a real cluster: it reaches it by Airflow's connections, and keeps what it found."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kafka_dr.watch_results import STRETCH, WatchResultStore
from support.stretched import DELAY, OBSERVER, PREFIX, PROBE, Stretched

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

CONTEXT: Any = {"run_id": "manual__1", "ti": SimpleNamespace(try_number=1), "params": {"cluster": None}}


def test_the_task_looks_and_keeps_a_report_that_the_status_page_finds(
    stretched: Stretched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stretched.create(f"{PREFIX}seen", (1, 2, 3), (6, 4, 5))
    stretched.create(DELAY, (1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2), min_in_sync=1)
    spec = {"connection": "observer", "acks": "all", "delay": {"topic": DELAY, "connection": "probe", "most_ms": 1000}}
    topology = tmp_path / "topology.yaml"
    topology.write_text(yaml.safe_dump({"evidence": {"root": str(tmp_path)}, "stretch_clusters": {"metro": spec}}))
    connections = {"OBSERVER": OBSERVER, "PROBE": PROBE}
    environ = {"AIRFLOW_HOME": str(tmp_path / "airflow"), "KAFKA_DR_TOPOLOGY": str(topology)}
    for name, principal in connections.items():
        extra = stretched.cluster.client_settings(principal)
        environ[f"AIRFLOW_CONN_{name}"] = json.dumps({"conn_type": "kafka", "extra": extra})
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    from kafka_dr_airflow.operators.stretch import StretchOperator

    look = StretchOperator(cluster="metro")
    assert look.execute(CONTEXT)["verdict"] == "warning"
    kept = WatchResultStore(tmp_path).read("metro", STRETCH.name)
    assert kept is not None
    assert [(row["site"], row["verdict"]) for row in kept.facts["sites"]] == [
        ("site-a", "ok"),
        ("site-b", "ok"),
        ("site-c", "ok"),
    ]
    report = json.loads((tmp_path / look.report_path).read_text())
    assert [each["samples"] for each in report["delays"]] == [60] * 6
    passwords = [stretched.cluster.client_settings(each)["sasl.password"] for each in connections.values()]
    stored = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(password in stored for password in passwords)
