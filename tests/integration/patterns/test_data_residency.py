"""Topics that one cluster alone may hold: a pattern that matches them copies nothing, and a copy is found."""

from __future__ import annotations

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.request import StepName
from kafka_dr.topology.residency import ResidencySpec
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support.patterned_group import PatternedGroup
from support.protection import Protection

pytestmark = pytest.mark.kafka


@pytest.fixture
def group(protection: Protection) -> PatternedGroup:
    """A group whose pattern matches orders, and people, which east alone may hold by law."""
    made = PatternedGroup.declared(protection)
    protection.residency = {"law": ResidencySpec(topic_prefixes=(f"{made.begin}eu.people",), may_be_held_by=("east",))}
    for topic in ("eu.orders", "eu.people"):
        made.write("east", made.create("east", topic))
    with protection.clients() as clients:
        adopt(made.name, clients, "adoption")
    return made


def health(group: PatternedGroup) -> WatchResult:
    with group.protection.clients() as clients:
        return check_health(group.name, clients)


def test_what_one_cluster_alone_may_hold_is_copied_nowhere_and_a_copy_that_somebody_makes_is_named(
    group: PatternedGroup,
) -> None:
    orders, people = f"{group.begin}eu.orders", f"{group.begin}eu.people"
    with group.protection.clients() as clients:
        assert reconcile_flows(group.name, clients).outcome == "ok"
    group.wait_copied_to("west", orders)
    assert not group.exists("west", people)
    well = health(group)
    assert well.outcome == "ok", well.sentences
    group.go(StepName.REPORT)
    assert (group.is_writable("west", orders), group.is_writable("east", people)) == (True, True)
    assert not group.exists("west", people)
    assert people not in group.denied("east"), "it is none of the group's topics"

    for name in (people, f"east.{people}"):
        with group.protection.cluster("west", "admin") as admin:
            admin.topics.create(name, partitions=1, replication_factor=1, config={})
        found = health(group)
        assert found.outcome == "failed"
        assert any(f"{name} on west (law)" in said for said in found.sentences), found.sentences
        with group.protection.cluster("west", "admin") as admin:
            admin.topics.delete([name])
    well = health(group)
    assert well.outcome == "ok", well.sentences
