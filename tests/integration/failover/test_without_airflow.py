"""Airflow is gone: everything is done with ``python -m kafka_dr``, in a process of its own where it asks somebody."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.register import KafkaRegister, Phase
from kafka_dr.register.abandonment import abandonment
from kafka_dr.register.state import roles_in
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.runs.retention_hold import to_hold
from kafka_dr.verbs.resume import resume
from kafka_dr.watch_results import RunningSteps
from support import outside_view
from support.by_hand import done_by_hand
from support.command_line import CommandLine, Said, read_until
from support.kafka_tools import tools_in
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup, dying, failed
from support.waiting import eventually

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
    with group.protection.changed(approvers=[], approver_roles=["whoever is on call"]):
        said = line.run("plan", "planned", "--group", group.name)
        assert (said.code, "--break-glass --by NAME" in said.out) == (4, True), said.out
        assert line.run("plan", "planned", "--group", group.name, "--break-glass", "--by", "carol").code == 0
    said = line.run("plan", "resume", "--group", group.name)
    assert (said.code, "no run holds it, so there is nothing to resume" in said.err) == (4, True)
    assert outside_view.look(group.protection) == before

    request = group.interrupted_after_act(StepName.OPEN_TARGET)
    # A run does not wait for the tasks of a connector that it has stopped: they end a moment later.
    eventually(lambda: set(outside_view.look(group.protection).connectors.values()) == {"STOPPED"})
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


@pytest.mark.long
def test_the_first_flow_is_started_and_a_group_that_nobody_adopted_is_left_alone(protection: Protection) -> None:
    line = CommandLine(protection)
    said = line.run("flows", "--group", protection.name)
    assert (said.code, "not adopted" in said.out) == (4, True), said
    assert not outside_view.look(protection).connectors
    with protection.clients() as clients:
        adopt(protection.name, clients, "adoption")
    protection.produce("east", 20)
    said = line.run("plan", "planned", "--group", protection.name, "--reason", "a test")
    assert (said.code, f"kafka_dr flows --group {protection.name}" in said.out) == (4, True), said
    said = line.run("flows", "--group", protection.name, "--json")
    assert (said.code, said.json["outcome"]) == (0, "ok"), said
    before = outside_view.look(protection).connectors
    assert {state for states in before.values() for state in states.split()} == {"RUNNING"}
    assert line.run("flows", "--group", protection.name).code == 0
    assert outside_view.look(protection).connectors == before
    assert line.run("flows", "--group", "another").code == 2


def test_health_adds_what_a_fence_lacks_and_says_so(group: SwitchedGroup) -> None:
    line, standby = CommandLine(group.protection), group.standby
    lifted = min(plan.write_fence(group.protection.group))
    with group.protection.cluster(standby, "admin") as admin:
        admin.acls.remove([lifted])
    assert lifted not in outside_view.denies(group.protection, standby)
    said = line.run("health", "--group", group.name)
    assert (said.code, standby in said.out) == (1, True), said
    assert plan.standby(group.protection.group) <= outside_view.denies(group.protection, standby)
    again = line.run("health", "--group", group.name, "--json")
    assert again.json["outcome"] != "failed", again


#: The step after which a run is taken over in each run of the suite; the others are slow, and differ little.
_OFTEN = (StepName.CUT_OVER_GROUPS,)


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=[] if step in _OFTEN else pytest.mark.long) for step in STEPS_AFTER_APPROVAL],
)
def test_a_run_that_airflow_began_is_finished_by_the_command_line_alone(group: SwitchedGroup, step: StepName) -> None:
    source, target = group.active, group.standby
    request = group.interrupted_after_act(step)

    said = CommandLine(group.protection).run(
        "resume", "--group", group.name, "--run", request.run, "--reason", "Airflow is gone", "--confirmed", "--json"
    )

    assert said.code == 0, said.err
    assert (said.json["run"], said.json["outcome"]) == (request.run, "done")
    assert request.run not in _shown_runs(group)
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
    assert request.run not in _shown_runs(group)
    group.assert_at_rest(source)


def test_a_failover_waits_until_an_approver_has_signed_its_question_with_the_declared_key(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    line, target = CommandLine(group.protection), group.standby
    own, foreign = tmp_path / "alice.pem", tmp_path / "foreign.pem"
    said = line.run("failover", "planned", "--group", group.name, "--reason", "a test")
    assert (said.code, "nobody could approve. Use keygen" in said.err) == (4, True)
    public = line.run("keygen", str(own)).out.strip()
    line.run("keygen", str(foreign))
    assert (own.stat().st_mode & 0o777, line.run("keygen", str(own)).code) == (0o600, 2)

    with group.protection.changed(approver_keys={"alice": public}):
        with line.started("failover", "planned", "--group", group.name, "--reason", "a test") as failover:
            run, shown = read_until(failover, "waiting for an approver")
            said = approved(line, group, run, refused=foreign, by=(str(own), "--reason", "go"))
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


def approved(line: CommandLine, group: SwitchedGroup, run: str, *, refused: Path, by: tuple[str, ...]) -> Said:
    """Let one key be refused, and approve with another."""
    answer = ("approve", "--group", group.name, "--run", run, "--yes", "--key")
    said = line.run(*answer, str(refused))
    assert (said.code, "is not the key of somebody who may answer" in said.err) == (4, True), said.err
    said = line.run(*answer, *by)
    assert said.code == 0, said.err
    return said


def test_who_may_only_ask_begins_a_run_with_a_key_and_an_approver_answers(group: SwitchedGroup) -> None:
    line, target = CommandLine(group.protection), group.standby
    files, public = line.keys("alice", "carol")
    declared = {"approver_keys": {"alice": public["alice"]}, "requester_keys": {"carol": public["carol"]}}
    begin = ("failover", "planned", "--group", group.name, "--reason", "a test")
    with group.protection.changed(**declared, requester_may_approve=False):
        nameless = line.run(*begin)
        assert (nameless.code, "it has to be known who begins the run" in nameless.err) == (4, True)
        with line.started(*begin, "--key", str(files["carol"])) as failover:
            run, _ = read_until(failover, "waiting for an approver")
            approved(line, group, run, refused=files["carol"], by=(str(files["alice"]),))
            out, err = failover.communicate(timeout=180)
        assert failover.returncode == 0, out + err
        group.assert_at_rest(target)
        with group.protection.clients() as clients:
            claim = clients.evidence.newest(group.name, run, "claim")
    assert claim is not None
    details = {check["name"]: (check["outcome"], check["detail"]) for check in claim["checks"]}
    assert details["responder_is_verified"][0] == "ok"
    assert details["responder_is_verified"][1].startswith("alice signed")
    assert details["responder_is_approver"][0] == "ok"


def test_a_rejected_failover_changes_nothing(group: SwitchedGroup, tmp_path: Path) -> None:
    line = CommandLine(group.protection)
    public = line.run("keygen", str(tmp_path / "bob.pem")).out.strip()
    before = outside_view.look(group.protection)
    with group.protection.changed(approver_keys={"bob": public}):
        begin = ("failover", "planned", "--group", group.name, "--reason", "a test")
        said = line.typed("what?\nreject\n", *begin, "--key", str(tmp_path / "bob.pem"), "--json")
    assert (said.code, said.json["exit_code"]) == (4, 4), said.err
    assert "rejected by bob, verified by a key" in said.err
    assert said.json["run"] not in _shown_runs(group)
    assert outside_view.look(group.protection) == before


def test_a_failover_whose_terminal_is_closed_before_an_answer_says_that_nothing_was_changed(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    line, own = CommandLine(group.protection), tmp_path / "bob.pem"
    public = line.run("keygen", str(own)).out.strip()
    before = outside_view.look(group.protection)
    with group.protection.changed(approver_keys={"bob": public}):
        begin = ("failover", "planned", "--group", group.name, "--reason", "a test")
        said = line.typed("n\n", *begin, "--key", str(own))
    assert (said.code, "nothing was changed" in said.out, "Abort" in said.err) == (4, True, False), said
    assert outside_view.look(group.protection) == before


def test_a_failover_by_break_glass_is_named_until_somebody_has_reviewed_it(group: SwitchedGroup) -> None:
    line, target = CommandLine(group.protection), group.standby
    begin = ("failover", "planned", "--group", group.name, "--reason", "a test", "--json")
    said = line.run(*begin, "--break-glass", "--by", "carol", "--yes")
    assert said.code == 0, said.err
    run = said.json["run"]
    assert run not in _shown_runs(group)
    group.assert_at_rest(target)
    claim = next(step for step in said.json["steps"] if step["step"] == "claim")
    outcomes = {check["name"]: check["outcome"] for check in claim["checks"]}
    assert (outcomes["responder_is_verified"], outcomes["responder_is_approver"]) == ("overridden", "overridden")

    assert any(f"{run} of {group.name}: approved by break glass" in each for each in _health(group))
    said = line.run("review", "--group", group.name, "--run", run, "--by", "dave", "--reason", "carol was on call")
    assert said.code == 0, said.err
    assert not any("break glass" in each for each in _health(group))
    assert line.run("review", "--group", group.name, "--run", run, "--by", "dave", "--reason", "again").code == 4


def _shown_runs(group: SwitchedGroup) -> list[str]:
    """Return the runs of a group that every page shows as open."""
    found, damaged = RunningSteps(Path(group.protection.topology.evidence.root)).read(datetime.now(UTC))
    assert not damaged
    return [each.run for each in found if each.group == group.name]


def _health(group: SwitchedGroup) -> tuple[str, ...]:
    with group.protection.clients() as clients:
        return check_health(group.name, clients).sentences


@pytest.mark.long
def test_a_group_is_moved_by_hand_with_kafkas_own_tools_exactly_as_printed(
    own_group: SwitchedGroup, tmp_path: Path
) -> None:
    group, source, target = own_group, own_group.active, own_group.standby
    group.wait_equal()
    said = done_by_hand(group.protection, tmp_path / "files", tools_in(tmp_path / "bin"), "move")
    assert " left\n" not in said

    state = group.protection.state(target)
    assert state is not None
    assert (state.phase, state.active, state.standby) == (Phase.UNFENCED, target, source)
    assert group.protection.takes_writes(target)
    assert group.protection.refuses_writes(source)
    assert json.loads(route_file(group.protection.group).read_text())["active"] == target
    for name in (f"{group.name}-head", f"{group.name}-slow"):
        assert group.committed(target, name).keys() == group.at(0, 0).keys()
    # Everything of this project continues from there: the old cluster is proven to be fenced, a failback can follow.
    _health(group)
    after = group.protection.state(target)
    assert after is not None
    assert after.phase is Phase.DIVERGED
    with group.protection.clients() as clients:
        left = abandonment(clients.register(target).history(group.name), after, source)
        ends = clients.cluster(target, "operator").topics.high_watermarks(left.new_ends)
    assert (left.old, left.new, left.new_ends) == (source, target, ends)


@pytest.mark.long
def test_a_run_that_died_is_rolled_back_or_let_in_by_hand_exactly_as_printed(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    source, target, tools = group.active, group.standby, tools_in(tmp_path / "bin")
    group.interrupted_after_act(StepName.STOP_FLOW)
    done_by_hand(group.protection, tmp_path / "back", tools, "go_back")
    group.assert_at_rest(source)

    request = group.killed(StepName.OPEN_TARGET, dying(KafkaRegister, "copy"))
    done_by_hand(group.protection, tmp_path / "on", tools, "finish")
    assert group.protection.takes_writes(target)
    assert group.protection.refuses_writes(source)
    line = CommandLine(group.protection)
    said = line.run("resume", "--group", group.name, "--run", request.run, "--reason", "a test", "--confirmed")
    assert said.code == 0, said.err
    group.assert_at_rest(target)


@pytest.mark.long
@pytest.mark.parametrize("phase", [Phase.UNFENCED, Phase.DIVERGED])
def test_an_old_cluster_that_is_not_fenced_is_fenced_by_hand_exactly_as_printed(
    own_group: SwitchedGroup, tmp_path: Path, phase: Phase
) -> None:
    group, old, new = own_group, own_group.active, own_group.standby
    before = group.protection.state(new)
    assert before is not None
    left = replace(
        before,
        phase=phase,
        roles=roles_in(phase, active=new, standby=old),
        epoch=1000,
        revision=0,
        verb="unplanned_failover",
        run="at-night",
    )
    with group.protection.clients() as clients:
        for cluster in (new, old):
            clients.register(cluster).copy(left)
    assert group.protection.takes_writes(old)
    done_by_hand(group.protection, tmp_path / "files", tools_in(tmp_path / "bin"), "fence")
    assert group.protection.refuses_writes(old)
    assert plan.standby(group.protection.group) <= outside_view.denies(group.protection, old)
    # What was added by hand is recorded as this project's, so a later run lifts it.
    with group.protection.clients() as clients:
        assert plan.standby(group.protection.group) <= clients.register(old).added_acls(group.name, old).current
    assert group.protection.state(new) == left
    # And nothing that only the old cluster holds expires.
    with group.protection.clients() as clients:
        context = GroupContext(group.name, clients)
        described = context.operator(old).configs.describe(context.topic_names(old)).configs
    assert described
    assert [name for name, values in described.items() if to_hold(values)] == []
    assert group.protection.topic in (tmp_path / "files" / f"topics-of-{old}.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "waiting", ["until it expires", pytest.param("until its process dies", marks=pytest.mark.long)]
)
def test_after_its_expiry_nobody_approves_a_run_and_nobody_is_accused(
    group: SwitchedGroup, tmp_path: Path, waiting: str
) -> None:
    line, own = CommandLine(group.protection), tmp_path / "alice.pem"
    public = line.run("keygen", str(own)).out.strip()
    timing = group.protection.group.timing.model_copy(update={"approval_expiry_seconds": 8.0})

    with group.protection.changed(approver_keys={"alice": public}, timing=timing):
        with line.started("failover", "planned", "--group", group.name, "--reason", "a test") as failover:
            run, shown = read_until(failover, "waiting for an approver")
            if waiting == "until its process dies":
                failover.kill()
            failover.wait(60)
        (until,) = re.findall(r"until (\d\d:\d\d:\d\d) UTC\)", shown)
        while f"{datetime.now(UTC):%H:%M:%S}" <= until:
            time.sleep(0.2)
        late = line.run("approve", "--group", group.name, "--run", run, "--yes", "--key", str(own))

        assert late.code == 4, late.out
        assert f"the question of run {run} was open until" in late.err
        assert "nobody can answer it any more. Nothing was changed: begin a new run" in late.err
        with group.protection.clients() as clients:
            refused = failed(StepName.CLAIM, replace(group.request(), run=run), clients)
    assert "has no answer to approval" in refused.detail


def test_an_approver_who_reads_other_evidence_than_the_run_writes_accuses_nobody(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    line, own = CommandLine(group.protection), tmp_path / "alice.pem"
    public = line.run("keygen", str(own)).out.strip()
    with (
        group.protection.changed(approver_keys={"alice": public}),
        line.started("failover", "planned", "--group", group.name, "--reason", "a test") as failover,
    ):
        run, _ = read_until(failover, "waiting for an approver")
        elsewhere = ("--evidence", str(tmp_path))
        said = line.run("approve", "--group", group.name, "--run", run, "--yes", "--key", str(own), *elsewhere)
    assert said.code == 4, said.out
    assert f"the evidence that this command reads has no question of run {run}: give --evidence" in said.err
