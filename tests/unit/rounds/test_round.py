"""Rounds with real child processes, and looks that need no cluster."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.people import Person
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.rounds.round import Round, RoundLimits, look_at_groups
from kafka_dr.rounds.shard import Shard
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.round_looks import BY_NAME, WAITS

ROOT = Path(__file__).parents[3]
#: A process starts slowly where others want the processor, too.
PATIENT = RoundLimits(60, 120)
NewRound = Callable[..., Round]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def declared(tmp_path: Path) -> Topology:
    environ = {
        name: f"127.0.0.1:{port}"
        for port, name in enumerate(("KAFKA_DR_LAB_EAST", "KAFKA_DR_LAB_WEST", "KAFKA_DR_LAB_VANTAGE"), 1)
    }
    return load(ROOT / "include" / "topology.yaml", {**environ, "KAFKA_DR_LAB_HOME": str(tmp_path)})


@pytest.fixture
def wanted(declared: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewRound:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))

    def make(look: str, groups: Iterable[str], limits: RoundLimits = PATIENT) -> Round:
        base = declared.group("orders")
        named = {name: base.model_copy(update={"name": name}) for name in groups}
        topology = declared.model_copy(update={"protection_groups": named})
        return Round(look, topology, AccessData({}), with_deadline(tmp_path), "manual__1", limits)

    return make


def test_every_group_has_its_own_result_and_none_holds_another_up(wanted: NewRound, tmp_path: Path) -> None:
    tmp_path.parent.joinpath("outside").write_text("secret")
    hang = [f"hangs-{number}" for number in range(10)]
    good = [f"group-{number}" for number in range(12)]
    groups = [*hang, "silent", "broken", "leaves", "writes", "approved", *good]
    said: list[WatchResult] = []
    limits = RoundLimits(12, 120)
    made = replace(
        wanted(BY_NAME, groups, limits), people_of=lambda names, _: tuple(Person(n, f"id of {n}") for n in names)
    )
    found = look_at_groups(made, groups, clock=SystemClock(), heard=said.append)
    assert found["approved"].sentences == ("alice is id of alice", "bob is id of bob")
    assert sorted(each.group for each in said) == sorted(groups) == sorted(found)
    assert {name for name, each in found.items() if each.outcome == "ok"} == {*good, "writes", "approved"}
    assert {found[name].outcome for name in groups if name not in (*good, "writes", "approved")} == {"unknown"}
    for name, why in (
        (hang[0], "did not end within"),
        ("silent", "east does not answer"),
        ("broken", "a mistake of this program stopped it (zero division)"),
        ("leaves", "outside the evidence root"),
    ):
        assert why in found[name].summary
    assert (tmp_path / "watched" / "writes.json").read_text() == "seen"
    processes = {found[name].facts["process"] for name in good}
    assert len(processes) == 1
    assert os.getpid() not in processes


def test_a_client_that_aborts_its_process_costs_only_its_own_group(wanted: NewRound) -> None:
    groups = ["aborts", "one", "two"]
    found = look_at_groups(wanted(BY_NAME, groups), groups, clock=SystemClock())
    outcomes = {name: each.outcome for name, each in found.items()}
    assert outcomes == {"aborts": "unknown", "one": "ok", "two": "ok"}
    assert "was ended by signal SIGABRT" in found["aborts"].summary


def test_a_process_that_sleeps_is_ended_with_the_round_and_its_groups_are_unknown(
    wanted: NewRound, tmp_path: Path
) -> None:
    begun: list[Shard] = []

    def started(shard: Shard) -> None:
        begun.append(shard)
        os.kill(shard.process_id, signal.SIGSTOP)

    found = look_at_groups(wanted(WAITS, ["one"], RoundLimits(60, 3)), ["one"], clock=SystemClock(), started=started)
    assert found["one"].outcome == "unknown"
    assert "no result within 3 s" in found["one"].summary
    assert ends(begun[0].process_id)


def test_a_child_ends_when_its_parent_was_killed(wanted: NewRound, tmp_path: Path) -> None:
    code = (
        "import pickle, sys\n"
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from kafka_dr.clock import SystemClock\n"
        "from kafka_dr.rounds.round import look_at_groups\n"
        "from kafka_dr.storage.deadline_path import with_deadline\n"
        "wanted = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "look_at_groups(replace(wanted, root=with_deadline(Path(sys.argv[2]))), ['one'], clock=SystemClock())\n"
    )
    request = tmp_path / "request"
    request.write_bytes(pickle.dumps(replace(wanted(WAITS, ["one"]), root=None)))  # type: ignore[arg-type]
    path = os.pathsep.join(str(ROOT / name) for name in ("include", "tests"))
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(request), str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    )
    child = int(appears(tmp_path / "one.waits"))
    parent.kill()
    parent.wait()
    assert ends(child)


def appears(path: Path) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if path.exists() and (found := path.read_text()):
            return found
        time.sleep(0.02)
    raise AssertionError(f"{path} did not appear")


def ends(process: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
