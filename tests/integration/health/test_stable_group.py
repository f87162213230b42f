"""A stable group: everything that does not match the register is fenced, stopped or named, and never opened."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from integration.health.conftest import look, said

from kafka_dr.errors import Refused
from kafka_dr.fencing import plan
from kafka_dr.health.between_looks import changed_clusters
from kafka_dr.health.health_check import check_health
from kafka_dr.health.registers import guard_by_answering, newest_now, read_registers
from kafka_dr.register import Phase
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.register.transitions import adopted, claimed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.register_guard import AsksFor
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from support import outside_view
from support.protection import Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


def test_a_healthy_group_is_green_and_nothing_is_touched(at_rest: SwitchedGroup) -> None:
    before = outside_view.look(at_rest.protection)
    watched = look(at_rest.protection)
    assert watched.outcome == "ok", said(watched)
    assert outside_view.look(at_rest.protection) == before


def test_between_two_looks_a_cluster_that_changed_is_named_at_once_and_nobody_else(at_rest: SwitchedGroup) -> None:
    with at_rest.protection.clients() as clients:
        assert changed_clusters({"east": False, "west": True}, clients, seconds=60) == ("east",)
        assert changed_clusters({"east": True, "west": True}, clients, seconds=0) == ()


def test_a_topic_of_digests_that_expires_is_named_until_an_adoption_sets_it_right(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    with protection.clients() as clients, protection.cluster("west", "admin") as admin:
        clients.digests("west").write("offset_pairs/of/nobody.json", None)
        assert not admin.configs.set({DIGESTS_TOPIC: {"retention.ms": "86400000"}})
        try:
            assert "_kafka_dr.digests on west retention.ms is 86400000, expected -1: run dr_adopt" in said(
                look(protection)
            )
            assert clients.digests("west").correct_topic() == {"retention.ms": "-1"}
        finally:
            admin.configs.set({DIGESTS_TOPIC: {"retention.ms": "-1"}})
    assert look(protection).outcome == "ok"


def test_a_group_whose_adoption_is_under_way_is_left_alone(protection: Protection) -> None:
    state = adopted(protection.name, active="east", standbys=["west"], run="adoption", at=datetime.now(UTC))
    with protection.clients() as clients:
        clients.register("east").copy(state)
        watched = check_health(protection.name, clients)
    assert watched.outcome == "left_alone"
    assert "if dr_adopt does not run any more, run it again" in said(watched)
    assert outside_view.denies(protection, "west") == frozenset()
    assert protection.state("west") is None


def test_a_fence_that_somebody_removed_is_restored_and_named(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove(plan.write_fence(protection.group) | plan.probe_fence(protection.group))
    watched = look(protection)
    assert watched.outcome == "failed"
    assert "west, which is not active, lacked" in said(watched)
    assert protection.refuses_writes("west")
    assert look(protection).outcome == "ok"


@pytest.mark.parametrize("cluster", ["west", "east"])
def test_a_writer_that_the_fence_does_not_stop_is_named_on_both_clusters(at_rest: SwitchedGroup, cluster: str) -> None:
    with at_rest.protection.stranger_may_write(cluster):
        watched = look(at_rest.protection)
    assert watched.outcome == "failed"
    assert f"User:intruder may write on {cluster} and is not among the group's principals" in said(watched)


def test_a_fence_on_the_active_cluster_is_named_and_never_lifted(at_rest: SwitchedGroup) -> None:
    protection, foreign = at_rest.protection, plan.group_freeze(at_rest.protection.group)
    with protection.cluster("east", "admin") as admin:
        admin.acls.add(foreign)
        try:
            watched = look(protection)
            assert watched.outcome == "failed"
            assert "found on east, which is active" in said(watched)
            assert foreign <= admin.acls.list()
        finally:
            admin.acls.remove(foreign)


def test_a_missing_change_fence_is_added_and_named_also_where_the_register_lists_none_of_it(
    at_rest: SwitchedGroup,
) -> None:
    protection = at_rest.protection
    changes = plan.change_fence(protection.group)
    with protection.clients() as clients, protection.cluster("west", "admin") as admin:
        register = clients.register("west")
        admin.acls.remove(changes)
        register.change_added_acls(
            protection.name, "west", lambda found: replace(found, current=found.current - changes)
        )
    watched = look(protection)
    assert watched.outcome == "failed"
    assert f"west, which is not active, lacked {len(changes)} DENYs: they were added" in said(watched)
    assert changes <= outside_view.denies(protection, "west")
    assert look(protection).outcome == "ok"


def test_a_missing_change_deny_on_a_standby_is_added_and_named(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    changes = plan.change_fence(protection.group)
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove([min(changes)])
    watched = look(protection)
    assert watched.outcome == "failed"
    assert "west, which is not active, lacked 1 DENYs: they were added" in said(watched)
    assert changes <= outside_view.denies(protection, "west")


def test_a_change_deny_of_somebody_else_on_the_active_cluster_is_no_fence(at_rest: SwitchedGroup) -> None:
    protection, theirs = at_rest.protection, plan.change_fence(at_rest.protection.group)
    with protection.cluster("east", "admin") as admin:
        admin.acls.add(theirs)
        try:
            assert look(protection).outcome == "ok"
        finally:
            admin.acls.remove(theirs)


def test_a_deny_that_a_run_did_not_lift_is_named(at_rest: SwitchedGroup) -> None:
    protection, ours = at_rest.protection, plan.change_fence(at_rest.protection.group)
    with protection.clients() as clients, protection.cluster("east", "admin") as admin:
        register = clients.register("east")
        register.change_added_acls(protection.name, "east", lambda found: found.adding(ours, epoch=found.epoch))
        admin.acls.add(ours)
        try:
            watched = look(protection)
        finally:
            admin.acls.remove(ours)
            register.change_added_acls(
                protection.name, "east", lambda found: replace(found, current=found.current - ours)
            )
    assert watched.outcome == "failed"
    assert "found on east, which is active" in said(watched)


def test_a_register_that_missed_the_newest_record_is_updated(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    state = protection.state("east")
    assert state is not None
    newer = replace(state, revision=state.revision + 1, at=datetime.now(UTC))
    with protection.clients() as clients:
        clients.register("east").copy(newer)
    watched = look(protection)
    assert "the register of west held an older record and was updated" in said(watched)
    assert protection.state("west") == newer
    assert look(protection).outcome == "ok"


def test_a_connector_against_the_register_is_stopped_and_named(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    back = Flow(protection.name, "west", "east")
    with protection.clients() as clients:
        replicator = clients.replicator(back)
        replicator.ensure(stopped=False)
        replicator.wait_running(30)
        watched = check_health(protection.name, clients)
        assert watched.outcome == "failed"
        assert "the register forbids this direction" in said(watched)
        assert replicator.wait_stopped(30).state == "stopped"
    # The flow in the direction that the register requires was not touched.
    assert "RUNNING" in outside_view.connectors(protection)[protection.flow.name]
    assert look(protection).outcome == "ok"


def test_a_route_to_the_wrong_cluster_is_named(at_rest: SwitchedGroup) -> None:
    route = route_file(at_rest.protection.group)
    kept = route.read_bytes()
    route.write_bytes(kept.replace(b'"east"', b'"west"'))
    try:
        watched = look(at_rest.protection)
        assert watched.outcome == "failed"
        assert "the route leads to west" in said(watched)
    finally:
        route.write_bytes(kept)


def test_a_change_that_the_register_no_longer_requires_is_refused(at_rest: SwitchedGroup) -> None:
    """A run may begin to move the group between the check and the change: then the change must not be made."""
    protection = at_rest.protection
    with protection.clients() as clients:
        run = Run(RunRequest(protection.name, "health"), clients)
        registers = read_registers(run)
        assert newest_now(run, registers) == protection.state("east")
        with pytest.raises(Refused, match="Nothing more is changed"):
            guard_by_answering(run, registers, AsksFor(lambda now: now.active == "west", "west to be active")).require()


def test_a_run_that_died_is_named_and_its_registers_are_left_alone(at_rest: SwitchedGroup) -> None:
    protection = at_rest.protection
    state = protection.state("east")
    assert state is not None
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    switching = claimed(
        state,
        run="died",
        verb="planned_failover",
        source="east",
        target="west",
        highest_epoch=state.epoch,
        evidence_sha256="",
        approved_by="alice",
        at=long_ago,
    )
    with protection.clients() as clients:
        clients.register("east").copy(switching)
        try:
            watched = look(protection)
            assert watched.outcome == "failed"
            assert "run died holds it" in said(watched)
            assert "dr_resume" in said(watched)
            assert protection.state("west") == state
        finally:
            rest = replace(switching, phase=Phase.STABLE, revision=1, at=datetime.now(UTC))
            clients.register("east").copy(rest)
            clients.register("west").copy(rest)
