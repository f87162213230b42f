"""The demo as a newcomer calls it: the first command of the README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.conftest import DEMO_SECONDS, Command

from lab.api import Lab
from lab.demo.disaster import FENCED_SECONDS

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(DEMO_SECONDS + 60)]

STEPS = [
    "preflight",
    "approval",
    "claim",
    "fence_source",
    "drain",
    "stop_flow",
    "cut_over_groups",
    "open_target",
    "flip_route",
    "verify",
    "start_reverse_flow",
    "report",
]


def report_of(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text())
    return report


@pytest.mark.long
def test_a_failover_under_load_keeps_every_invariant(tmp_path: Path, place: Lab, lab_command: Command) -> None:
    done = lab_command("demo", "--yes", "--keep", "--report", str(tmp_path / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(tmp_path / "report.json")
    assert {each["outcome"] for each in report["invariants"]} == {"held"}
    assert (report["lost"], report["reordered"], report["rpo_seconds"]) == (0, 0, 0.0)
    assert report["acknowledged"] > 1000
    assert [each["name"] for each in report["steps"]] == STEPS
    moved = {each["group"]: each["class"] for each in report["groups"]}
    assert moved.keys() == {"orders-head", "orders-slow", "orders-gaps", "billing-settlement"}
    assert Path(report["evidence"]).is_dir()

    assert lab_command("down").returncode == 0
    assert not place.status().in_use
    assert place.supervisor.strays() == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("sabotage", "invariant"),
    [
        ("offset_plus_one", "I3"),
        ("no_fence", "I1"),
        ("no_drain", "I2"),
        ("late_commit", "I3"),
        ("drop_record", "I2"),
    ],
)
def test_a_sabotaged_run_fails_and_names_the_invariant_and_leaves_no_process(
    tmp_path: Path, place: Lab, lab_command: Command, sabotage: str, invariant: str
) -> None:
    assert_found_out(lab_command, tmp_path, sabotage=sabotage, invariant=invariant)
    assert not place.status().in_use
    assert place.supervisor.strays() == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("standbys", "moves"),
    [((), "west east"), (("--standbys",), "west north east")],
    ids=["killed, one standby", "split off, two standbys"],
)
def test_a_disaster_under_load_takes_nothing_that_is_not_in_the_list(
    tmp_path: Path, lab_command: Command, standbys: tuple[str, ...], moves: str
) -> None:
    report = disaster_that_held(lab_command, tmp_path, "--unplanned", *standbys)
    assert [each["target"] for each in report["switches"]] == moves.split()
    assert report["real_loss"] <= report["stranded"]
    assert (report["predicted_loss"] or 0) <= report["stranded"]
    assert report["unfenced_writes"] > 0
    assert 0 <= report["unfenced_seconds"] <= FENCED_SECONDS
    # What the forgotten application wrote is in the list, and all that an application wrote is published again.
    assert report["stranded"] - report["stranded_own"] >= report["unfenced_writes"]
    assert report["rescued"] == report["stranded"] - report["stranded_own"]
    home = report["failback"]
    assert (home["mode"], home["state"], home["approved_by"]) == ("rebuild", "success", ["alice", "bob"])
    assert (home["stranded"], home["rescued"]) == (report["stranded"], report["rescued"])
    assert {"rescue", "prepare_old_cluster", "settle"} <= {step["name"] for step in home["steps"]}
    (disaster,) = [each for each in report["switches"] if each["verb"] == "unplanned_failover"]
    assert "fence" in {step["name"] for step in disaster["steps"]}
    if standbys:
        # Its own applications wrote on until it was fenced, long after the new active cluster was open.
        assert report["unfenced_writes"] > 1000


@pytest.mark.long
@pytest.mark.parametrize(
    ("sabotage", "invariant"),
    [
        ("fence_left_open", "I1"),
        ("flow_left_running", "I2"),
        ("offset_one_too_far", "I3"),
        ("stranded_dropped", "I4"),
    ],
)
def test_a_sabotaged_way_through_a_disaster_is_found_out(
    tmp_path: Path, lab_command: Command, sabotage: str, invariant: str
) -> None:
    assert_found_out(lab_command, tmp_path, "--unplanned", sabotage=sabotage, invariant=invariant)


@pytest.mark.long
def test_a_group_under_other_names_moves_loses_its_cluster_and_returns(tmp_path: Path, lab_command: Command) -> None:
    report = disaster_that_held(lab_command, tmp_path, "--names")
    assert [(each["verb"], each["source"], each["target"]) for each in report["switches"]] == [
        ("planned_failover", "east", "west"),
        ("unplanned_failover", "west", "east"),
        ("planned_failover", "east", "west"),
    ]
    # What the lost cluster alone had acknowledged is in the list, and all that an application wrote has arrived.
    assert report["stranded"] - report["stranded_own"] >= report["real_loss"] >= report["unfenced_writes"] > 0
    assert report["rescued"] == report["stranded"] - report["stranded_own"]
    home = report["failback"]
    assert (home["mode"], home["state"], home["approved_by"]) == ("deliver", "success", ["alice"])
    said = " ".join(each["sentence"] for each in report["invariants"])
    assert said.count("positions at the exact record") == 2
    assert "each arrived on east once, in its order, as listed" in said


@pytest.mark.long
def test_the_clients_of_one_member_leave_and_another_member_is_lost(tmp_path: Path, lab_command: Command) -> None:
    report = disaster_that_held(lab_command, tmp_path, "--active-active")
    assert [(each["verb"], each["source"], each["target"]) for each in report["switches"]] == [
        ("planned_failover", "east", "west"),
        ("planned_failover", "west", "east"),
        ("unplanned_failover", "north", "east"),
        ("planned_failover", "east", "north"),
    ]
    assert report["stranded"] - report["stranded_own"] >= report["real_loss"] > 0
    assert report["rescued"] == report["stranded"] - report["stranded_own"]
    said = " ".join(each["sentence"] for each in report["invariants"])
    assert "each arrived on east once, in its order, as listed" in said


@pytest.mark.long
def test_a_sabotaged_way_under_other_names_is_found_out(tmp_path: Path, lab_command: Command) -> None:
    assert_found_out(lab_command, tmp_path, "--names", sabotage="offset_one_too_far", invariant="I3")


def disaster_that_held(lab_command: Command, folder: Path, *options: str) -> dict[str, Any]:
    """Return the report of a demo of a disaster that held every invariant that such a demo can judge."""
    done = lab_command("demo", *options, "--yes", "--report", str(folder / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(folder / "report.json")
    assert {(each["name"], each["outcome"]) for each in report["invariants"]} == {
        *((name, "held") for name in ("I1", "I2", "I3", "I4", "I7", "I8", "I9", "I10")),
        *((name, "not judged") for name in ("I5", "I6")),
    }
    assert (report["lost"], report["reordered"]) == (0, 0)
    return report


def assert_found_out(lab_command: Command, folder: Path, *more: str, sabotage: str, invariant: str) -> None:
    done = lab_command("demo", "--yes", *more, "--sabotage", sabotage, "--report", str(folder / "sabotaged.json"))
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {each["name"]: each["outcome"] for each in report_of(folder / "sabotaged.json")["invariants"]}
    assert outcomes[invariant] == "violated", done.stdout
    assert f"{invariant} is violated" in " ".join(done.stdout.split())


@pytest.mark.long
def test_there_and_back_and_there_and_back_again_loses_nothing(tmp_path: Path, lab_command: Command) -> None:
    done = lab_command("demo", "--yes", "--switches", "4", "--report", str(tmp_path / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(tmp_path / "report.json")
    assert [each["target"] for each in report["switches"]] == ["west", "east", "west", "east"]
    assert all(each["write_outage_seconds"] is not None for each in report["switches"])
    assert (report["lost"], report["reordered"]) == (0, 0)


def test_a_report_into_a_folder_that_does_not_exist_is_refused_before_anything_starts(
    tmp_path: Path, place: Lab, lab_command: Command
) -> None:
    done = lab_command("demo", "--yes", "--report", str(tmp_path / "nowhere" / "report.json"))
    assert done.returncode == 2
    assert "make it first" in done.stderr
    assert not place.home.root.exists()
