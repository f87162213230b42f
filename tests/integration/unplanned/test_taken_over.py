"""A planned failover whose source dies in the middle is taken over by the unplanned one, with what it journaled."""

from __future__ import annotations

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from support.disaster import Disaster
from support.switched_group import failed

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    "last", [pytest.param(StepName.FENCE_SOURCE, marks=pytest.mark.long), StepName.CUT_OVER_GROUPS]
)
def test_a_planned_run_that_lost_its_source_is_taken_over(disaster: Disaster, last: StepName) -> None:
    group = disaster.group
    disaster.remember()
    planned = group.go(last)
    group.protection.lab.kill(disaster.broker)

    request = disaster.request()
    evidence = disaster.approve(request)
    assert evidence.facts["decision"]["taken_from"] == planned.run
    disaster.step(StepName.CLAIM, request)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, reason="a test", confirmed=True), clients)

    state = disaster.state()
    assert (state.phase, state.active, state.epoch) == (Phase.UNFENCED, "west", 1000)
    assert group.protection.takes_writes("west")
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    with group.protection.clients() as clients:
        record = failed(StepName.OPEN_TARGET, planned, clients)
    assert record.outcome in ("refused", "unknown")


def test_the_approval_is_superseded_when_the_source_is_back(passing: Disaster) -> None:
    group = passing.group
    request = passing.request(override="")
    with passing.seen_down_elsewhere():
        with passing.hanging(passing.broker):
            evidence = passing.approve(request)
            assert {check.name: check.outcome for check in evidence.checks}["source_is_down"] == "ok"
        group.wait_answering()
        with group.protection.clients() as clients:
            record = failed(StepName.CLAIM, request, clients)

    assert "superseded" in record.detail
    group.assert_at_rest(passing.active)
