"""Every step dies once after each of its changes and runs again; or the run is rolled back, which dies, too."""

from __future__ import annotations

from functools import partial

import pytest

from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import ResumeRequest, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.roll_back import roll_back
from support import outside_view
from support.command_line import CommandLine
from support.disaster import STEPS, Disaster
from support.dying_process import DyingProcess
from support.silent_brokers import silent_brokers

#: Every step dies dozens of times, and each time a register that does not answer is waited for.
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1200)]

#: What a run journals: it has to survive a death after each of these.
_FACTS = {
    "claim",
    "source_side",
    "unverified",
    "target_ends",
    "translations",
    "opened",
    "verified",
    "flow_seed",
    "measured",
}


def test_every_step_may_die_after_each_of_its_changes_and_is_run_again(disaster: Disaster) -> None:
    group = disaster.group
    disaster.produce_what_never_crosses(10)
    request = disaster.request()
    disaster.approve(request)

    died = mortal_steps(disaster, request)

    assert facts_of(died) >= _FACTS, died
    state = disaster.state()
    assert (state.phase, state.active, state.epoch, state.run) == (Phase.UNFENCED, "west", 1000, request.run)
    assert group.protection.takes_writes("west")
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    # And once more when all is done: a second click changes nothing.
    before = outside_view.acls_of(group.protection, "west")
    for step in STEPS:
        assert disaster.step(step, request).good
    assert disaster.state() == state
    assert outside_view.acls_of(group.protection, "west") == before


@pytest.mark.long
def test_every_step_may_die_while_the_source_answers_and_nothing_is_lost(passing: Disaster) -> None:
    group = passing.group
    group.protection.produce(passing.active, 20)
    passing.look()
    passing.remember()
    request = passing.request()
    passing.approve(request)

    died = mortal_steps(passing, request)

    assert facts_of(died) >= _FACTS | {"source_touched", "source_ends", "drained"}, died
    with group.protection.clients() as clients:
        journal = Run(request, clients).journal
    source_state, rows = SourceState.of(journal), journal["translations"]["positions"]
    # A source that was slow at the wrong moment is given up: no more is read again than the step has said.
    said = {row["group"]: 0 for row in rows}
    for row in rows:
        said[row["group"]] += row["redelivered_at_most"]
    again = passing.read_again()
    assert all(again[name] <= most for name, most in said.items()), (again, said, source_state)
    if source_state.drained:
        assert again == dict.fromkeys(again, 0)
        group.assert_at_rest(passing.standby)
    else:
        assert passing.state().phase in (Phase.UNFENCED, Phase.DIVERGED)


def mortal_steps(disaster: Disaster, request: RunRequest) -> list[str]:
    """Run every step after the approval, each dying after each of its changes; return where they died."""
    died: list[str] = []
    for step in STEPS:
        mortal = DyingProcess()
        assert mortal.until_through(partial(disaster.step, step, request)).good
        died += mortal.died
    return died


def facts_of(died: list[str]) -> set[str]:
    """Return the facts after whose journaling a process died."""
    return {place.split()[1] for place in died if place.startswith("KafkaRegister.write_fact")}


def test_a_run_is_rolled_back_without_its_source_and_nothing_there_has_changed(passing: Disaster) -> None:
    group = passing.group
    with passing.hanging(passing.broker):
        request = passing.request()
        passing.go(StepName.CUT_OVER_GROUPS, request)
        with group.protection.clients() as clients:
            record = roll_back(request, clients)
        assert {proof.name: proof.outcome for proof in record.proofs} == {
            "source_left_alone": "ok",
            "target_refuses": "ok",
        }
        state = passing.state()
        assert (state.phase, state.active, state.epoch % 1000) == (Phase.STABLE, passing.active, 1)
        assert group.protection.refuses_writes(passing.standby)

    group.wait_answering()
    assert group.protection.takes_writes(passing.active)


@pytest.mark.long
def test_a_run_that_airflow_began_is_abandoned_or_finished_by_the_command_line_alone(passing: Disaster) -> None:
    group, line = passing.group, CommandLine(passing.group.protection)
    request = passing.request()
    passing.go(StepName.CUT_OVER_GROUPS, request)
    named = ("--group", group.name, "--reason", "Airflow is gone", "--json", "--run")
    said = line.run("abandon", *named, request.run, "--confirmed")
    assert (said.code, said.json["run"]) == (0, request.run), said.err
    group.assert_at_rest(passing.active)

    passing.look()
    _finished_by_the_command_line(passing, StepName.OPEN_TARGET)


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_airflow_began_is_finished_by_the_command_line_after_any_step(
    passing: Disaster, step: StepName
) -> None:
    _finished_by_the_command_line(passing, step)


def _finished_by_the_command_line(passing: Disaster, last: StepName) -> None:
    """Run a new run through a step as Airflow would, and finish it without."""
    group, line, request = passing.group, CommandLine(passing.group.protection), passing.request()
    passing.go(last, request)
    named = ("--group", group.name, "--reason", "Airflow is gone", "--json", "--run")
    if STEPS.index(last) >= STEPS.index(StepName.OPEN_TARGET):
        said = line.run("abandon", *named, request.run, "--confirmed")
        assert (said.code, said.json["exit_code"]) == (4, 4), said.err
    if last is not StepName.REPORT:
        said = line.run("resume", *named, request.run, "--confirmed")
        assert (said.code, said.json["outcome"]) == (0, "done"), said.err
    group.assert_at_rest(passing.standby)


def test_a_source_that_an_undeclared_principal_may_write_to_is_not_fenced_and_is_opened_again_when_abandoned(
    passing: Disaster,
) -> None:
    group = passing.group
    request = passing.request()
    with group.protection.stranger_may_write(passing.active):
        source_state = passing.go(StepName.FENCE, request)[StepName.FENCE].facts["source_side"]
    assert group.protection.refuses_writes(passing.active)
    # The applications' records are copied and their groups frozen: the run uses that.
    assert (source_state["fenced"], source_state["drained"]) == (False, False)
    assert "was drained; but User:intruder may write on" in source_state["detail"]
    assert "drained" in passing.journal(request.run)

    def abandoned() -> None:
        with group.protection.clients() as clients:
            resume(ResumeRequest(group.name, "abandon", run=request.run, reason="a test", confirmed=True), clients)

    mortal = DyingProcess()
    mortal.until_through(abandoned)

    assert len(mortal.died) >= 6, mortal.died
    group.assert_at_rest(passing.active)


@pytest.mark.long
def test_a_roll_back_may_die_after_each_of_its_changes_while_the_source_hangs(passing: Disaster) -> None:
    group = passing.group
    mortal = DyingProcess()
    with passing.hanging(passing.broker):
        request = passing.request()
        passing.go(StepName.CUT_OVER_GROUPS, request)

        def rolled_back() -> StepRecord:
            with group.protection.clients() as clients:
                return roll_back(request, clients)

        assert mortal.until_through(rolled_back).good
        assert group.protection.refuses_writes(passing.standby)

    assert len(mortal.died) >= 3, mortal.died
    group.wait_answering()
    assert group.protection.takes_writes(passing.active)


@pytest.mark.parametrize("dies", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_run_with_an_unknown_opening_continues_also_after_every_death(passing: Disaster, *, dies: bool) -> None:
    request = passing.request()
    passing.go(StepName.CUT_OVER_GROUPS, request)
    outcomes = {}
    with silent_brokers():
        for step in STEPS[STEPS.index(StepName.OPEN_TARGET) : -1]:
            attempt = partial(passing.step, step, request)
            outcomes[step] = (DyingProcess().until_through(attempt) if dies else attempt()).outcome
        with pytest.raises(StepFailed, match="report unknown: writes_allowed"):
            passing.step(StepName.REPORT, request)
    assert outcomes.pop(StepName.OPEN_TARGET) == "unproven"
    assert set(outcomes.values()) == {"done"}
    assert passing.step(StepName.REPORT, request).outcome == "done"
    assert passing.group.protection.takes_writes(passing.standby)
