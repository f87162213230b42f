"""Several groups in one real Spark application, submitted by the task that Airflow runs: each keeps its own result."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import yaml

from kafka_dr.adoption.adopt import adopt
from kafka_dr.audit.result import AuditKind, ResultStore
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.runs.recorded_inputs import AUDITS
from kafka_dr.watch_results import WatchResultStore
from lab import rights
from support.auditing import topology_file
from support.protection import Protection

if TYPE_CHECKING:
    from kafka_dr_airflow.operators.audited_group import AuditedGroup
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]
_SECONDS = 420.0
_PRINCIPALS = {"operator": rights.OPERATOR, "probe": rights.PROBE, "audit": rights.AUDIT}


@pytest.fixture
def groups(lab: Lab, tmp_path: Path) -> Iterator[dict[str, Protection]]:
    """Three adopted groups with one evidence root; the topic of one has a record that nobody has copied for long."""
    names = ("good", "late", "hangs")
    made = {name: Protection(lab, tmp_path) for name in names}
    with ExitStack() as ends:
        for each in made.values():
            each.create()
            ends.callback(each.delete_flows)
            with each.clients() as clients:
                adopt(each.name, clients, "adoption")
        old = NewRecord(TopicPartition(made["late"].topic, 0), b"k", b"v", (), int((time.time() - 1000) * 1000))
        with made["late"].cluster("east", rights.ORDERS_APP) as application:
            application.writing.append([old])
        yield made


@pytest.fixture
def declared(groups: dict[str, Protection], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Declare these groups, and one whose source nobody can reach, for Airflow, and return their names."""
    lab = next(iter(groups.values())).lab
    found: dict[str, Any] = {}
    for each in groups.values():
        found.setdefault("protection_groups", {})
        content = yaml.safe_load(topology_file(each).read_text("utf-8"))
        found = content | {"protection_groups": found["protection_groups"] | content["protection_groups"]}
    gone = found["clusters"]["east"] | {"cluster_id": "gone-gone-gone-gone-go", "connect": "connect_gone"}
    gone["connections"] = {role: name.replace("_east_", "_gone_") for role, name in gone["connections"].items()}
    found["clusters"]["gone"] = gone
    base = found["protection_groups"][groups["good"].name]
    found["protection_groups"]["unreachable"] = base | {
        "clusters": ["gone", "west"],
        "initial_active": "gone",
        "topic_prefixes": ["unreachable."],
        "consumer_group_prefixes": ["unreachable-"],
        "transactional_id_prefixes": ["unreachable-"],
        "route": {"kind": "file", "path": str(tmp_path / "route" / "unreachable.json")},
    }
    for group in found["protection_groups"].values():
        group.pop("drill", None)  # its connections are those of the lab's clusters
    path = tmp_path / "shared.yaml"
    path.write_text(yaml.safe_dump(found), "utf-8")
    settings = {
        f"kafka_{name}_{role}": lab.client_settings(name, p)
        for name in lab.settings.names
        for role, p in _PRINCIPALS.items()
    }
    for role in _PRINCIPALS:
        settings[f"kafka_gone_{role}"] = settings[f"kafka_east_{role}"] | {"bootstrap.servers": "127.0.0.1:9"}
    environ = {f"AIRFLOW_CONN_{name.upper()}": _connection("kafka", each) for name, each in settings.items()}
    environ["AIRFLOW_CONN_KAFKA_DR_SPARK"] = json.dumps({"conn_type": "spark", "host": "local[2]"})
    path_variable = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = {"AIRFLOW_HOME": str(tmp_path / "airflow"), "KAFKA_DR_TOPOLOGY": str(path), "PATH": path_variable}
    for name, value in {**lab.spark_environ(), **environ, **home, "TMPDIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    return sorted(found["protection_groups"])


def _connection(kind: str, extra: dict[str, str]) -> str:
    return json.dumps({"conn_type": kind, "extra": extra})


def command_of(process: psutil.Process) -> list[str]:
    """Return the command of a process; of one that has ended nothing: brokers that a test killed may be among them."""
    with suppress(psutil.Error):
        return process.cmdline()
    return []


@pytest.mark.long
def test_an_application_that_is_killed_takes_only_the_groups_whose_audits_had_not_ended(
    groups: dict[str, Protection], declared: list[str], tmp_path: Path
) -> None:
    from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator

    root = tmp_path / "evidence"
    good, late, hangs = (groups[name].name for name in ("good", "late", "hangs"))
    # What a job reads of the storage has no deadline but that of its audit.
    window = root / "audits" / hangs / "lag" / "east-to-west" / "window.json"
    window.parent.mkdir(parents=True)
    os.mkfifo(window)
    left: list[list[AuditedGroup]] = []
    application: list[psutil.Process] = []

    def kill_when_two_have_ended() -> None:
        deadline = time.monotonic() + _SECONDS
        while not (left and {good, late} <= {each["group"] for each in left[-1]}) and time.monotonic() < deadline:
            time.sleep(0.1)
        # The lab's brokers and workers may be children of this process, too.
        started = (each for each in psutil.Process().children(recursive=True) if each.name() == "java")
        (java,) = (each for each in started if any("shared_audits.py" in part for part in command_of(each)))
        application.extend((java, *java.children(recursive=True)))
        java.send_signal(signal.SIGKILL)

    killer = Thread(target=kill_when_two_have_ended, daemon=True)
    killer.start()
    operator = SharedAuditsOperator(task_id="lag_audit", protection_groups=declared, audit="lag")
    ti = SimpleNamespace(try_number=1, max_tries=0, xcom_push=lambda *, key, value: left.append(value))
    run = SimpleNamespace(run_type="scheduled")
    context = {"params": {}, "run_id": "scheduled__1", "dag_run": run, "ti": ti}
    found = {each["group"]: each for each in operator.execute(context)}
    killer.join()

    assert {name: each["outcome"] for name, each in found.items()} == {
        good: "ok",
        late: "failed",
        hangs: "unknown",
        "unreachable": "unknown",
    }, found
    assert "gone" in found["unreachable"]["sentences"][0]
    assert found[hangs]["sentences"][0].startswith("its Spark application ended (exit code -9) before this audit did")
    kept = WatchResultStore(root)
    assert {name: each.outcome for name in found if (each := kept.read(name, "lag"))} == {
        name: each["outcome"] for name, each in found.items()
    }
    for name in (good, late):
        newest = ResultStore(root).newest(AuditKind.LAG, group=name, source="east", target="west")
        assert newest is not None
        with groups["good"].clients() as clients:
            journaled = clients.register("east").history(name)[AUDITS]["lag.east-to-west"]
        assert journaled["sha256"] == newest.sha256
    # Nobody would journal what is filed from now on.
    assert len(application) > 2
    assert psutil.wait_procs(application, timeout=60)[1] == []
    assert not list(tmp_path.glob("kafka-dr-secrets-*"))
