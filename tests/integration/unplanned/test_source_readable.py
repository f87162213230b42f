"""A source that answers after all is fenced and drained for a bounded time first; how the run ends says how far."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from kafka_dr.clusters.transactions import Transactions
from kafka_dr.failover.unplanned import reachable_source
from kafka_dr.register import Phase
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.disaster import STEPS, Disaster

pytestmark = pytest.mark.kafka


def test_a_source_that_answers_after_the_claim_is_fenced_and_drained_and_the_reverse_flow_starts(
    disaster: Disaster,
) -> None:
    group = disaster.group
    group.protection.produce("east", 40)
    disaster.remember()
    request = disaster.request()
    with disaster.hanging(disaster.broker):
        disaster.approve(request)
        claimed = disaster.step(StepName.CLAIM, request)
    group.wait_answering()

    records = {step: disaster.step(step, request) for step in STEPS[1:]}

    assert claimed.facts["source_register"] == "east did not answer"
    assert disaster.state().phase is Phase.STABLE
    report = records[StepName.REPORT].facts
    assert report["rpo_seconds"] == 0.0
    recovery = report["recovery"]
    assert list(recovery["parts"]) == ["detection", "people", "switch", "applications"], recovery
    assert report["rto_seconds"] == recovery["since_fault_seconds"] > recovery["since_approval_seconds"]
    assert {row["class"] for row in records[StepName.CUT_OVER_GROUPS].facts["groups"]} == {"exact"}
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    group.assert_at_rest("west")


@pytest.mark.long
def test_after_an_unplanned_failover_the_group_is_switched_back_and_again(disaster: Disaster) -> None:
    group = disaster.group
    with group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, group.request(), clients)  # records how far the copy was compared
    group.protection.produce("east", 40)
    disaster.look()
    disaster.go(StepName.REPORT)
    group.go(StepName.REPORT)
    with group.protection.clients() as clients:
        preflight = run_step(StepName.PREFLIGHT, group.request(), clients)
    assert {"inputs_recorded": "ok"}.items() <= {check.name: check.outcome for check in preflight.checks}.items()
    group.assert_at_rest("east")


def test_a_source_that_cannot_be_drained_in_time_is_left_diverged(disaster: Disaster) -> None:
    group = disaster.group
    disaster.remember()
    with disaster.hanging("west-connect"):
        group.protection.produce("east", 25)
        disaster.look()
        records = disaster.go(StepName.SETTLE)

    source_state = records[StepName.FENCE].facts["source_side"]
    assert (source_state["fenced"], source_state["drained"]) == (True, False), source_state
    assert disaster.state().phase is Phase.DIVERGED
    assert group.protection.refuses_writes("east")
    report = disaster.step(StepName.REPORT, disaster.request_of(disaster.state().run)).facts
    assert report["predicted_loss"]["at_least_records"] == 25
    # The rest is only on the old cluster, and its connector can never write it to the target.
    ends = len(outside_view.contents(group.protection, "west")[next(iter(group.at(0)))])
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    assert len(outside_view.contents(group.protection, "west")[next(iter(group.at(0)))]) == ends


def test_a_source_that_answers_late_is_fenced_in_the_background_and_opened_again_when_the_run_is_abandoned(
    passing: Disaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, request = passing.group, passing.request()
    answers, take_over = reachable_source.answers, Transactions.take_over

    def found_silent_and_waking_up_then(run: Run) -> bool:
        answering = answers(run)
        group.protection.lab.resume(passing.broker)
        return answering

    def taken_over_once_somebody_came_to_the_source(self: Transactions, ids: Iterable[str]) -> None:
        deadline = time.monotonic() + 20
        with group.protection.clients() as clients:
            register = clients.register(passing.standby)
            while "source_touched" not in register.facts(group.name, request.run):
                assert time.monotonic() < deadline, "nobody came to the source, which answers again"
                time.sleep(0.2)
        take_over(self, ids)

    with passing.hanging(passing.broker):
        passing.approve(request)
        passing.step(StepName.CLAIM, request)
        monkeypatch.setattr(reachable_source, "answers", found_silent_and_waking_up_then)
        monkeypatch.setattr(Transactions, "take_over", taken_over_once_somebody_came_to_the_source)
        source_state = passing.step(StepName.FENCE, request).facts["source_side"]
        monkeypatch.undo()

    assert (source_state["fenced"], source_state["drained"]) == (True, False), source_state
    assert "answered late and refuses writes" in source_state["detail"]
    assert group.protection.refuses_writes(passing.active)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "abandon", run=request.run, reason="a test", confirmed=True), clients)
    group.assert_at_rest(passing.active)
