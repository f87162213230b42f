"""Airflow is gone: everything is done with ``python -m kafka_dr``, each time in a process of its own."""

from __future__ import annotations

import pytest

from kafka_dr.runs.request import StepName
from support.command_line import CommandLine
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


def test_status_shows_where_a_group_is_active_and_which_run_holds_it(group: SwitchedGroup) -> None:
    line, source = CommandLine(group.protection), group.active
    said = line.run("status")
    assert (said.code, said.err) == (0, "")
    assert f"stable on {source}, standby {group.standby}" in said.out

    request = group.go(StepName.FENCE_SOURCE)
    said = line.run("status", "--group", group.name, "--json")
    assert said.code == 1, said.err
    (found,) = said.json["groups"]
    assert (found["record"]["phase"], found["record"]["run"]) == ("switching", request.run)
    assert found["can_be_abandoned"] is True
    assert {each["answer"] for each in found["registers"]} == {"record"}
    assert {"claim", "fence_begun", "source_ends"} <= set(found["facts"])
    assert f"abandon --group {group.name} --run {request.run}" in found["next_steps"][0]
    assert {flow["outcome"] for flow in found["flows"]} == {"ok"}
    group.roll_back(request)


def test_a_command_that_cannot_reach_anything_says_what_is_missing(group: SwitchedGroup) -> None:
    line = CommandLine(group.protection)
    said = line.run("status", "--group", "another")
    assert (said.code, said.out) == (2, "")
    assert "The topology declares no protection group 'another'" in said.err
    connections = line.connections()
    connections.chmod(0o644)
    said = line.run("status")
    assert (said.code, said.out) == (2, "")
    assert "has the mode 0644, expected 0600" in said.err
    connections.chmod(0o600)
