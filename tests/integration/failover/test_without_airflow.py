"""Airflow is gone: everything is done with ``python -m kafka_dr``, each time in a process of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kafka_dr.failover.resume import resume
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import ResumeRequest, StepName
from support import outside_view
from support.command_line import CommandLine
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


def test_status_shows_where_a_group_is_active_and_which_run_holds_it(group: SwitchedGroup) -> None:
    line, source = CommandLine(group.protection), group.active
    said = line.run("status")
    assert said.code == 0, said.err
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


def test_a_plan_says_what_a_run_would_do_and_how_one_that_died_would_end_and_changes_nothing(
    group: SwitchedGroup,
) -> None:
    line, source, target = CommandLine(group.protection), group.active, group.standby
    before = outside_view.look(group.protection)
    said = line.run("plan", "planned", "--group", group.name, "--reason", "a test", "--json")
    assert said.code == 0, said.err
    assert {step["outcome"] for step in said.json["steps"]} == {"would_do"}
    assert [step["step"] for step in said.json["steps"]] == ["preflight", *map(str, STEPS_AFTER_APPROVAL)]
    assert f"dry run of a planned failover of {group.name}, {source} → {target}: nothing was changed" in said.err
    assert line.run("plan", "adopt", "--group", group.name).code == 0
    said = line.run("plan", "resume", "--group", group.name)
    assert (said.code, "no run holds it, so there is nothing to resume" in said.err) == (4, True)
    assert outside_view.look(group.protection) == before

    request = group.interrupted_after_act(StepName.OPEN_TARGET)
    before = outside_view.look(group.protection)
    said = line.run("plan", "resume", "--group", group.name, "--run", request.run, "--json")
    assert said.code == 0, said.err
    turns = {step["step"]: step["turn"] for step in said.json["steps"]}
    assert (turns["drain"], turns["open_target"], turns["report"]) == ("passed", "runs", "later")
    said = line.run("plan", "abandon", "--group", group.name)
    assert (said.code, "the point of no return is passed" in said.out) == (4, True)
    assert outside_view.look(group.protection) == before
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", reason="a test", confirmed=True), clients)


def test_an_adoption_is_planned_before_any_register_exists(protection: Protection) -> None:
    before = outside_view.look(protection)
    said = CommandLine(protection).run("plan", "adopt", "--group", protection.name, "--json")
    assert said.code == 0, said.err
    (step,) = said.json["steps"]
    assert step["outcome"] == "would_do"
    assert any("DENYs are missing)" in sentence for sentence in step["intent"])
    assert outside_view.look(protection) == before
    assert protection.state("east") is None


@pytest.mark.parametrize(
    "step", [StepName.CLAIM, StepName.CUT_OVER_GROUPS, StepName.OPEN_TARGET, StepName.START_REVERSE_FLOW]
)
def test_a_run_that_airflow_began_is_finished_by_the_command_line_alone(group: SwitchedGroup, step: StepName) -> None:
    source, target = group.active, group.standby
    request = group.interrupted_after_act(step)

    said = CommandLine(group.protection).run(
        "resume", "--group", group.name, "--run", request.run, "--reason", "Airflow is gone", "--confirmed", "--json"
    )

    assert said.code == 0, said.err
    assert (said.json["run"], said.json["outcome"]) == (request.run, "done")
    group.assert_at_rest(target)
    assert group.protection.refuses_writes(source)


def test_a_run_that_airflow_began_is_rolled_back_by_the_command_line_alone(group: SwitchedGroup) -> None:
    source = group.active
    request = group.interrupted_after_act(StepName.DRAIN)
    line = CommandLine(group.protection)

    said = line.run("abandon", "--group", group.name, "--run", "another", "--reason", "a test")
    assert (said.code, f"run {request.run} holds {group.name}, expected another" in said.err) == (4, True)
    said = line.run("abandon", "--group", group.name, "--reason", "Airflow is gone", "--confirmed")

    assert said.code == 0, said.err
    assert f"run {request.run} is abandoned" in said.out
    group.assert_at_rest(source)


def test_a_failover_waits_until_an_approver_has_signed_its_question_with_the_declared_key(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    line, target = CommandLine(group.protection), group.standby
    own, foreign = tmp_path / "alice.pem", tmp_path / "foreign.pem"
    said = line.run("plan", "planned", "--group", group.name)
    assert said.code == 0, said.err
    said = line.run("failover", "planned", "--group", group.name, "--reason", "a test")
    assert (said.code, "nobody could approve. Use keygen" in said.err) == (4, True)
    public = line.run("keygen", str(own)).out.strip()
    line.run("keygen", str(foreign))
    assert (own.stat().st_mode & 0o777, line.run("keygen", str(own)).code) == (0o600, 2)

    with group.protection.changed(approver_keys={"alice": public}):
        with line.started("failover", "planned", "--group", group.name, "--reason", "a test") as failover:
            run, shown = _read_until(failover, "waiting for an approver")
            answer = ("approve", "--group", group.name, "--run", run, "--yes", "--key")
            said = line.run(*answer, str(foreign))
            assert (said.code, "is not the key of somebody who may answer" in said.err) == (4, True)
            said = line.run(*answer, str(own), "--reason", "go")
            assert said.code == 0, said.err
            assert "Digest of the facts" in said.out
            assert set(shown.split()) & set(said.out.split()) > {group.name}
            out, err = failover.communicate(timeout=180)
        assert failover.returncode == 0, out + err
        group.assert_at_rest(target)
        with group.protection.clients() as clients:
            claim = clients.evidence.newest(group.name, run, "claim")
        assert claim is not None
        (verified,) = (check for check in claim["checks"] if check["name"] == "responder_is_verified")
        assert (verified["outcome"], verified["detail"].startswith("alice signed")) == ("ok", True)


def test_a_rejected_failover_changes_nothing(group: SwitchedGroup, tmp_path: Path) -> None:
    line = CommandLine(group.protection)
    public = line.run("keygen", str(tmp_path / "bob.pem")).out.strip()
    before = outside_view.look(group.protection)
    with group.protection.changed(approver_keys={"bob": public}):
        begin = ("failover", "planned", "--group", group.name, "--reason", "a test")
        said = line.run(*begin, "--key", str(tmp_path / "bob.pem"), "--json", typed="what?\nreject\n")
    assert (said.code, said.json["exit_code"]) == (4, 4), said.err
    assert "rejected by bob, verified by a key" in said.err
    assert outside_view.look(group.protection) == before


def test_a_failover_by_break_glass_is_named_until_somebody_has_reviewed_it(group: SwitchedGroup) -> None:
    line, target = CommandLine(group.protection), group.standby
    begin = ("failover", "planned", "--group", group.name, "--reason", "a test", "--json")
    said = line.run(*begin, "--break-glass", "--by", "carol", "--yes")
    assert said.code == 0, said.err
    run = said.json["run"]
    group.assert_at_rest(target)
    claim = next(step for step in said.json["steps"] if step["step"] == "claim")
    outcomes = {check["name"]: check["outcome"] for check in claim["checks"]}
    assert (outcomes["responder_is_verified"], outcomes["responder_is_approver"]) == ("overridden", "overridden")

    assert any(f"{run} of {group.name}: approved by break glass" in each for each in _health(group))
    said = line.run("review", "--group", group.name, "--run", run, "--by", "dave", "--reason", "carol was on call")
    assert said.code == 0, said.err
    assert not any("break glass" in each for each in _health(group))
    assert line.run("review", "--group", group.name, "--run", run, "--by", "dave", "--reason", "again").code == 4


def _health(group: SwitchedGroup) -> tuple[str, ...]:
    with group.protection.clients() as clients:
        return check_health(group.name, clients).sentences


def _read_until(process: subprocess.Popen[str], words: str) -> tuple[str, str]:
    """Return the run that a command has begun, and everything that it wrote up to some words."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            break
    text = "".join(lines)
    found = re.search(r"run (command_line__\S+)", text)
    assert found, text
    return found[1], text
