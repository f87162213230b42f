"""Fence on return, on real brokers: an old cluster comes back, accepts writes, and one health check fences it."""

from __future__ import annotations

import time

import pytest
from integration.health.conftest import RUN, GivenUp, look, said

from kafka_dr.fencing import plan
from kafka_dr.register import Phase
from support import outside_view
from support.dying_process import DyingProcess
from support.protection import Protection
from support.switched_group import SwitchedGroup
from support.waiting import eventually

pytestmark = pytest.mark.kafka


def test_an_old_cluster_is_fenced_counted_and_its_register_updated_as_soon_as_it_answers(
    protection: Protection,
) -> None:
    given_up = GivenUp.give_up(SwitchedGroup.adopt(protection, records=40))
    assert protection.takes_writes("east")
    before = outside_view.contents(protection, "west")
    protection.produce("east", 7)
    _start_with_its_worker(given_up.switching)

    watched = look(protection)

    assert watched.outcome == "failed"
    assert "east is back and fenced; it holds at most 7 records" in said(watched), said(watched)
    assert watched.facts["phase"] == "diverged", "the look knows the record that it wrote"
    assert "at most 7 of them written after the hand-over" in said(watched)
    assert protection.refuses_writes("east")
    assert plan.standby(protection.group) | plan.flow_fence(protection.group) <= outside_view.denies(protection, "east")
    assert protection.takes_writes("west")
    # A look does not wait long for a worker that has just started: it says what it asked for, and what it sees.
    assert f"{protection.flow.name} was " in said(watched)
    assert "the register forbids this direction" in said(watched)
    eventually(lambda: outside_view.connectors(protection)[protection.flow.name] == "STOPPED")

    state = protection.state("west")
    assert state is not None
    assert (state.phase, state.active, state.epoch) == (Phase.DIVERGED, "west", given_up.state.epoch)
    assert protection.state("east") == state
    with protection.clients() as clients:
        returned = clients.register("west").facts(protection.name, RUN)["returned"]
        assert clients.evidence.newest(protection.name, RUN, "fence_on_return") is not None
    assert (returned["cluster"], returned["beyond_frontier"], returned["since_opening"]) == ("east", 7, 7)

    # Neither the old flow nor its restarted worker copied anything.
    assert outside_view.contents(protection, "west") == before
    again = look(protection)
    assert again.outcome == "failed"
    assert "make east a copy again with dr_failback" in said(again)
    assert protection.state("west") == state


@pytest.mark.long
def test_a_dead_cluster_delays_nothing_and_is_not_fenced_while_an_undeclared_principal_may_write(
    protection: Protection,
) -> None:
    given_up = GivenUp.give_up(SwitchedGroup.adopt(protection, records=10))
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove(plan.flow_fence(protection.group))
    protection.lab.pause("east-broker-1")
    try:
        watched = look(protection)  # ends while that cluster still hangs
    finally:
        protection.lab.resume("east-broker-1")
    assert watched.outcome == "failed"
    assert "east, which is not active, does not answer" in said(watched)
    assert "west, which is active, lacked" in said(watched)
    assert protection.state("west") == given_up.state
    given_up.switching.wait_answering()
    # Then it refuses the applications, but another principal may still write. The check may die at any moment: the
    # check of the next minute continues.
    fencing = DyingProcess()
    with protection.stranger_may_write("east"):
        assert "User:intruder may write on east" in said(fencing.until_through(lambda: look(protection)))
        assert protection.refuses_writes("east")
        assert protection.state("west") == given_up.state
    assert any(place.startswith("Acls.add") for place in fencing.died), fencing.died
    welcoming = DyingProcess()
    assert welcoming.until_through(lambda: look(protection)).outcome == "failed"
    died = "\n".join(welcoming.died)
    for place in ("KafkaRegister.write_fact returned on west", "compare_and_set diverged on west"):
        assert place in died, died
    state = protection.state("west")
    assert state is not None
    assert (state.phase, state.revision) == (Phase.DIVERGED, given_up.state.revision + 1)
    assert protection.state("east") == state
    assert protection.refuses_writes("east")
    assert protection.takes_writes("west")
    with protection.clients() as clients:
        assert clients.register("west").facts(protection.name, RUN)["returned"]["cluster"] == "east"


def _start_with_its_worker(switching: SwitchedGroup) -> None:
    """Let the old flow run, and kill its worker, which starts the flow again when it has restarted."""
    protection = switching.protection
    with protection.clients() as clients:
        flow = clients.replicator(protection.flow)
        flow.resume()
        flow.wait_running(30)
        protection.lab.kill("west-connect")
        protection.lab.restart("west-connect")
        switching.wait_answering(90)
        deadline = time.monotonic() + 60
        while flow.status().state not in ("running", "failed"):
            assert time.monotonic() < deadline, f"the worker has not started {protection.flow} again"
            time.sleep(0.2)
