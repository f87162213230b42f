"""Runs of a member's clients die after each change, are undone, or meet a member that serves others."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.register.transitions import claimed_unplanned, handed_over, without_source
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from support.dying_process import DyingProcess
from support.members import Members
from support.named_group import NamedGroup
from support.protection import STEPS_AFTER_APPROVAL

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_each_step_dies_after_each_change_there_and_back(members: Members) -> None:
    east, west = members["east"], members["west"]
    east.write("east", (f"e{n}".encode() for n in range(20)))
    for active in ("west", "east"):
        each_step_dies(east)
        assert (east.active, west.active) == (active, "west")
        assert members.refused("east") is (active == "west")
        assert not members.refused("west"), "nothing of it closes the other member for a moment"
        members.flows()
        for group in members.values():
            with group.protection.clients() as clients:
                found = check_health(group.name, clients)
            assert found.outcome == "ok", found


@pytest.mark.parametrize("last", [StepName.FENCE_SOURCE, StepName.CUT_OVER_GROUPS])
def test_a_run_that_is_undone_leaves_both_members_as_they_were(members: Members, last: StepName) -> None:
    east = members["east"]
    before = {cluster: members.denies(cluster) for cluster in members}
    request = east.request()
    with east.protection.clients() as clients:
        east.protection.run_until(request, last, clients)
        assert members.refused("east")
        assert roll_back(request, clients).outcome == "done"
    assert east.active == "east"
    assert {cluster: members.denies(cluster) for cluster in members} == before
    assert not members.refused("east")
    assert not members.refused("west")


def test_a_member_that_serves_others_is_not_closed_by_its_own_record(members: Members) -> None:
    """As after a split in which each half gave the other one up: both records say that their member is to be closed."""
    east, west = members["east"], members["west"]
    assert east.move()[StepName.REPORT].good
    state = west.protection.state("west")
    assert state is not None
    assert state.phase is Phase.STABLE
    run, at = "split", datetime.now(UTC)
    claim = {"run": run, "source": "west", "target": "east", "evidence_sha256": "", "approved_by": "alice", "at": at}
    claimed = claimed_unplanned(state, highest_epoch=state.epoch, **claim)  # type: ignore[arg-type]
    given_up = without_source(handed_over(claimed, run=run, at=at), run=run, fenced=False, at=at)
    with west.protection.clients() as clients:
        for cluster in ("east", "west"):
            clients.register(cluster).copy(given_up)
        found = check_health(west.name, clients)
    assert found.outcome == "failed"
    assert any(f"west serves {east.name}, so it stays open" in said for said in found.sentences), found.sentences
    assert not members.refused("west")


def each_step_dies(group: NamedGroup) -> None:
    """Run a whole planned failover of which each step dies after each change, and once more for nothing."""
    request = group.request()
    with group.protection.clients() as clients:
        run_step(StepName.PREFLIGHT, request, clients)
        group.protection.approve(request, clients)
    for step in STEPS_AFTER_APPROVAL:
        mortal = DyingProcess()
        for outcome in (mortal.until_through(partial(_once, group, step, request)), _once(group, step, request)):
            assert outcome.outcome == "done", (step, outcome, mortal.died)
        assert not any("Mm2Replicator" in died for died in mortal.died), "flows are left alone"


def _once(group: NamedGroup, step: StepName, request: RunRequest) -> StepRecord:
    with group.protection.clients() as clients:
        return run_step(step, request, clients)
