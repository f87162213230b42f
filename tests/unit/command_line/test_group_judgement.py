"""The situation on the command line: the registers say it at once, and what is kept says what they do not know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_dr.command_line import status_page
from kafka_dr.command_line.group_judgement import known_now
from kafka_dr.command_line.group_status import GroupStatus, RegisterStatus
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role, Roles
from kafka_dr.situations.judgement import Judgement
from kafka_dr.watch_results import WATCHES, RunningStep, WatchResultStore
from support.kept_metrics import NOON, kept

STATE = RegisterState(
    "orders", 3, 0, Phase.STABLE, Roles.of_pair("east", "west"), "planned_failover", "m1", NOON, approved_by="alice"
)
FLOW = Check("dr.orders.east-to-west", "ok", "running", {"state": "running"})
EAST, WEST = (RegisterStatus(name, "record", "stable", "east") for name in ("east", "west"))
WELL = GroupStatus("orders", "ok", (EAST, WEST), Check("route", "ok", "it leads to east"), (FLOW,), STATE, at=NOON)


def judged(status: GroupStatus, root: Path) -> Judgement:
    return known_now(status, root, NOON).judgement


def keep(root: Path, **facts: Any) -> None:
    for watch in WATCHES:
        found = kept("orders", watch)
        found = replace(found, facts={**found.facts, **facts}) if watch == "health" else found
        WatchResultStore(root).keep_round(watch, [found], declared=["orders"])


def test_without_scheduled_checks_the_registers_alone_are_judged_and_nothing_is_called_well(tmp_path: Path) -> None:
    found = judged(WELL, tmp_path)
    assert (found.name, found.colour) == ("take_over_unknown", "unknown")
    (tmp_path / "file").write_text("")
    assert judged(WELL, tmp_path / "file").name == "take_over_unknown", "a storage that cannot be read"


def test_with_kept_results_a_group_is_well_and_the_registers_of_now_count_more(tmp_path: Path) -> None:
    keep(tmp_path)
    assert judged(WELL, tmp_path).name == "well"
    gone = replace(WELL, outcome="unknown", registers=(replace(EAST, answer="silent"), WEST))
    assert judged(gone, tmp_path).name == "active_silent"
    keep(tmp_path, unheard=["east"], answering=["west"])
    assert judged(WELL, tmp_path).name == "well", "east answered this command"
    away = replace(WELL, registers=(EAST, replace(WEST, answer="silent")))
    assert judged(away, tmp_path).name == "standby_silent"
    other = replace(WEST, answer="other_cluster", detail="west has another id")
    assert judged(replace(WELL, registers=(EAST, other)), tmp_path).sentence.endswith("west has another id")
    stopped = replace(FLOW, detail="stopped", facts={"state": "stopped"})
    assert judged(replace(WELL, flows=(stopped,)), tmp_path).name == "flow_stopped"
    never = replace(WELL, state=None, registers=(replace(EAST, answer="no_record"), replace(WEST, answer="no_record")))
    assert judged(never, tmp_path).name == "not_adopted"


def test_a_run_that_died_is_said_from_the_registers_with_the_command_that_ends_it(tmp_path: Path) -> None:
    keep(tmp_path)
    dead = Check("half_moved", "failed", "no process executes it", {"run": "m2"})
    held = replace(STATE, phase=Phase.SWITCHING, run="m2")
    found = judged(replace(WELL, outcome="failed", state=held, half_moved=dead), tmp_path)
    assert found.name == "stopped_before_hand_over"
    assert found.action
    assert found.action.command == "abandon --group orders --run m2 --reason WHY"
    doubt = replace(dead, outcome="unknown")
    assert judged(replace(WELL, half_moved=doubt), tmp_path).word != "HALF MOVED"


def test_a_run_that_was_refused_before_it_held_the_group_does_not_run_any_more(tmp_path: Path) -> None:
    keep(tmp_path)
    runs = RunningStep("orders", "m2", "planned_failover", "preflight", NOON, NOON, "host:1")
    assert judged(replace(WELL, running=(runs,)), tmp_path).name == "run_moving"
    refused = replace(runs, ended_at=NOON, ended="refused")
    assert judged(replace(WELL, running=(refused,)), tmp_path).name == "well"


def test_each_of_several_standbys_has_a_line_by_the_record_of_now(tmp_path: Path) -> None:
    keep(tmp_path, roles={"north": "copy", "west": "copy"})
    roles = Roles((("east", Role.ACTIVE), ("north", Role.COPY), ("west", Role.PENDING)))
    three = replace(WELL, state=replace(STATE, roles=roles))
    console = Console(record=True, width=200)
    with console.capture() as shown:
        status_page.show((three,), {"orders": known_now(three, tmp_path, NOON)}, NOON, console)
    text = shown.get()
    assert text.index("west (pending): lag UNKNOWN") < text.index("register of")
    assert "north (copy): lag UNKNOWN, canary UNKNOWN, not compared lately. Move now? YES" in text
    assert "NOT COPIED YET: west waits for its flow from east" in text


def test_the_panel_says_the_situation_first_and_the_most_urgent_group_comes_first(tmp_path: Path) -> None:
    keep(tmp_path)
    gone = replace(WELL, group="payments", registers=(replace(EAST, answer="silent"), WEST))
    found = {each.group: known_now(each, tmp_path, NOON) for each in (WELL, gone)}
    console = Console(record=True, width=120)
    with console.capture() as shown:
        status_page.show((WELL, gone), found, NOON, console)
    text = shown.get()
    assert text.index("NO ANSWER: east, which is active, does not answer") < text.index("stable on east")
    assert text.index("NO ANSWER") < text.index("WELL: east serves, west could take over")
    assert "→ Start an unplanned failover: python -m kafka_dr failover unplanned --group payments" in text
