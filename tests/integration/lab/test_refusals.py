"""What keeps a lab from starting is said in one sentence, and nothing half-started stays."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lab.api import Lab
from lab.clusters import EAST, WEST
from lab.errors import LabError
from lab.layout import PROJECT

pytestmark = pytest.mark.kafka


def _nothing_runs(lab: Lab) -> bool:
    return lab.supervisor.strays() == [] and not any(lab.supervisor.find(name) for name in lab.supervisor.names())


def test_a_taken_port_is_named_before_anything_starts(unstarted: Lab) -> None:
    taken = EAST.nodes(unstarted.settings)[0].client_port
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", taken))
        holder.listen()
        with pytest.raises(LabError, match=f"port {taken}, where east-broker-1 is to listen, is taken"):
            unstarted.up(airflow=False)
    assert unstarted.status().processes == ()
    assert _nothing_runs(unstarted)


@pytest.mark.parametrize(
    ("cluster_id", "node", "told"),
    [
        (WEST.cluster_id, 7, "(?s)west-broker-1 ended while it was starting.*node id 7"),
        ("AAAAAAAAAAAAAAAAAAAAAA", 1, "is of the cluster AAAAAAAAAAAAAAAAAAAAAA, and west is .*: run `down --delete`"),
    ],
    ids=["a broker that ends", "the data of another cluster"],
)
def test_if_one_part_fails_all_that_was_started_is_stopped_and_the_reason_is_shown(
    unstarted: Lab, cluster_id: str, node: int, told: str
) -> None:
    data = unstarted.home.broker("west-broker-1") / "data"
    data.mkdir(parents=True)
    (data.parent / "formatted").touch()
    (data / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node}\n")
    with pytest.raises(LabError, match=told):
        unstarted.up(airflow=False)
    assert _nothing_runs(unstarted)


@pytest.mark.long
def test_an_interrupted_format_is_done_again_and_a_lab_that_ran_is_not_moved_to_other_ports(unstarted: Lab) -> None:
    data = unstarted.home.broker("east-broker-1") / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("half")

    unstarted.up(airflow=False)
    assert unstarted.status().running

    moved = Lab(unstarted.home.root, port_base=unstarted.settings.port_base + 1)
    with pytest.raises(LabError, match=r"runs on ports from \d+, not \d+: run `down` first"):
        moved.up(airflow=False)
    assert unstarted.status().running

    unstarted.down()
    unstarted.home.route.parent.mkdir(exist_ok=True)
    unstarted.home.route.write_text("{}")
    with pytest.raises(LabError, match=r"leads to ports from \d+, not \d+: leave --port-base out"):
        moved.up(airflow=False)
    assert _nothing_runs(moved)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("up", "--port-base", "70000"), "--port-base is 70000"),
        (("up", "--brokers", "9"), "--brokers is 9"),
        (("logs", "nobody"), "there is no log of 'nobody'"),
        (("up", "--home", "/dev/null/home"), "Not a directory; make room or allow it, or choose another --home"),
    ],
)
def test_the_command_line_says_it_in_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "include/lab", arguments[0], "--home", str(tmp_path / "home"), *arguments[1:]],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("lab: ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_status_as_json_says_where_everything_is_without_a_lab_running(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "include/lab", "status", "--json", "--home", str(tmp_path / "home")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    status = json.loads(done.stdout)
    assert done.returncode == 1
    assert status["running"] is False
    assert status["clusters"][0]["client_settings"]["probe"].endswith("clients/east/probe.properties")
    assert status["clusters"][0]["java_client_settings"]["probe"].endswith("clients/east/probe.java.properties")
