"""Two members take writes to the same topic: one is left for a while, or lost, and its clients go to the other one."""

from __future__ import annotations

from unittest import mock

import pytest

from kafka_dr.approvals.claim import ClaimStep
from kafka_dr.audit.result import AuditKind
from kafka_dr.checks import copied_once
from kafka_dr.checks.audit_checks import flow_to_audit
from kafka_dr.group_offsets import local_groups
from kafka_dr.health.health_check import check_health
from kafka_dr.readiness.judge import verbs_in
from kafka_dr.readiness_checks.look import look_at_readiness
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.config_plan import plan_config
from lab import rights
from support import outside_view
from support.members import Members
from support.named_group import NamedGroup
from support.protection import STEPS_AFTER_APPROVAL

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

#: What nothing in these tests provides: audits by Spark, a location of Airflow, vantages, a former failover.
NOT_PROVIDED = {
    *("checksum_audit", "lag_audit", "verified_rpo", "tried_lately", "vantages_answer", "airflow_is_elsewhere")
}


def test_the_clients_of_a_member_leave_and_come_back(members: Members) -> None:
    east, west = members["east"], members["west"]
    assert not members.refused("east")
    assert not members.refused("west")
    east.write("east", (f"e{n}".encode() for n in range(100)))
    west.write("west", (f"w{n}".encode() for n in range(60)))

    left = east.move()
    assert left[StepName.REPORT].good
    assert (east.active, west.active) == ("west", "west")
    assert members.refused("east")
    assert not members.refused("west")
    west.write("west", (f"both{n}".encode() for n in range(40)))
    members.flows()
    with east.protection.clients() as clients:
        audited = flow_to_audit(east.name, clients, AuditKind.CHECKSUM)
        assert isinstance(audited, WatchResult), "what west holds is read once, for the clients of west"

    back = east.move()
    assert back[StepName.REPORT].good
    assert (east.active, west.active) == ("east", "west")
    assert not members.refused("east")
    assert not members.refused("west")
    east.write("east", (f"home{n}".encode() for n in range(20)))
    members.flows()
    members.wait_copied()
    for origin, other, count in (("east", "west", 120), ("west", "east", 100)):
        for number in range(2):
            local = east.values(origin, east.local(number))
            assert len(local) == count // 2
            assert east.values(other, members.log(number, origin, other)) == local
        assert east.refused(other, rights.ORDERS_APP, members.log(0, origin, other)), "nobody writes to a copy"


def test_groups_that_run_on_each_member_have_to_see_all_where_the_clients_go(members: Members) -> None:
    east, west = members["east"], members["west"]
    east.write("east", [b"e"] * 4)
    west.write("west", [b"w"] * 4)
    members.wait_copied()
    union = f"{east.name}-union"
    members.read_by_union(union)
    assert "reads nothing" in refusal(east)
    east.protection.commit("west", union, {west.local(0): 1})
    assert f"{union} reads {west.local(0).topic} and not east.{west.local(0).topic}" in refusal(east)
    both = {west.local(0): 1, members.log(0, "east", "west"): 0}
    east.protection.commit("west", union, both)
    assert east.move()[StepName.REPORT].good
    assert outside_view.committed(east.protection, "west")[union] == both, "nothing of it is moved"


def test_what_a_group_that_reads_on_one_member_alone_has_left_there_is_said_before(members: Members) -> None:
    east = members["east"]
    east.write("east", [b"e"] * 8)
    local = f"{east.name}-local"
    members.read_locally(local)
    for read, said in ((1, f"{local} at most 3 records"), (4, "no group that reads on east alone has records left")):
        east.protection.commit("east", local, {east.local(0): read, east.local(1): 4})
        with east.protection.clients() as clients:
            checks = run_step(StepName.PREFLIGHT, east.request(dry_run=True), clients).checks
        (check,) = (each for each in checks if each.name == local_groups.NAME)
        assert said in check.detail


def test_a_member_is_not_left_for_one_that_is_left_and_not_while_it_has_guests(members: Members) -> None:
    east, west = members["east"], members["west"]
    assert east.move()[StepName.REPORT].good
    said = refusal(west)
    assert "the clients of east are on west, so east is closed" in said
    assert f"west also serves {east.name}" in said
    assert not members.refused("west")


def test_of_two_runs_that_leave_for_each_others_member_the_first_declared_continues(members: Members) -> None:
    east, west = members["east"], members["west"]
    with east.protection.clients() as one, west.protection.clients() as other:
        first, second = (east.request(), one), (west.request(), other)
        for group, (request, clients) in ((east, first), (west, second)):
            run_step(StepName.PREFLIGHT, request, clients)
            group.protection.approve(request, clients)
        run_step(StepName.CLAIM, *first)
        # It has asked before the other one has claimed, and claims after that.
        with mock.patch.object(ClaimStep, "check", return_value=()):
            run_step(StepName.CLAIM, *second)
        with pytest.raises(StepFailed) as refused:
            run_step(StepName.FENCE_SOURCE, *second)
        assert "is about to move the clients of east" in str(refused.value)
        assert f"west also serves {east.name}" in str(refused.value), "they come as soon as the other run continues"
        assert not members.refused("west")
        assert not members.refused("east")
        roll_back(*second)
        for step in STEPS_AFTER_APPROVAL[1:]:
            assert run_step(step, *first).good
    assert (east.active, west.active) == ("west", "west")
    assert members.refused("east")
    assert not members.refused("west")


def test_a_member_in_good_order_is_ready_and_nothing_is_wrong_with_it(members: Members) -> None:
    for group in members.values():
        with group.protection.clients() as clients:
            watch_canary(group.name, clients)
    for group in members.values():
        with group.protection.clients() as clients:
            watched = look_at_readiness(group.name, clients)
            for verb in (each for each in verbs_in(watched.facts) if each.verb in ("planned_failover",)):
                found = {each.name: each.detail for each in verb.open if each.name not in NOT_PROVIDED}
                assert not found, (group.name, found)
            health = check_health(group.name, clients)
            assert health.outcome == "ok", health
            changes = plan_config(group.name, clients, "changes")
            assert isinstance(changes, WatchResult) is (group is members["west"]), "west is made like east alone"


def refusal(group: NamedGroup) -> str:
    """Return why a planned failover of a group is refused before anybody is asked."""
    with group.protection.clients() as clients, pytest.raises(StepFailed) as refused:
        run_step(StepName.PREFLIGHT, group.request(), clients)
    return str(refused.value)


def test_a_copy_of_a_copy_is_named_with_its_way(members: Members) -> None:
    east = members["east"]
    again = f"west.east.{east.protection.topic}"
    with east.protection.cluster("east", "admin") as admin:
        admin.topics.create(again, partitions=1, replication_factor=1, config={})
    try:
        request = east.request(dry_run=True)
        with east.protection.clients() as clients:
            seen = run_step(StepName.PREFLIGHT, request, clients).checks
            looked = check_health(east.name, clients)
        (check,) = (each for each in seen if each.name == copied_once.NAME)
        assert check.outcome == "warning"
        assert f"{again} on east (records of east by way of west, so they came back)" in check.detail
        assert any(again in sentence for sentence in looked.sentences)
    finally:
        with east.protection.cluster("east", "admin") as admin:
            admin.topics.delete([again])
