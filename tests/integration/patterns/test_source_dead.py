"""A group with patterns whose active cluster dies: what was fenced on the standby is all let in there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support.disaster import Disaster, disaster_is_over
from support.patterned_group import PatternedGroup
from support.protection import Protection

pytestmark = pytest.mark.kafka


@pytest.fixture
def disaster(protection: Protection) -> Iterator[Disaster]:
    """A group that is about to lose its active cluster."""
    group = PatternedGroup.declared(protection)
    group.create("east", "eu.orders")
    with protection.clients() as clients:
        protection.adopt()
        reconcile_flows(group.name, clients)
    protection.produce("east", 20)
    group.wait_equal()
    made = Disaster.of(group)
    made.look()
    yield made
    disaster_is_over(made)


@pytest.mark.long
def test_topics_that_only_the_dead_cluster_had_are_let_in_too_and_it_is_fenced_with_new_ones_when_it_returns(
    disaster: Disaster,
) -> None:
    group = disaster.group
    assert isinstance(group, PatternedGroup)
    orders = f"{group.begin}eu.orders"
    group.write("east", orders)
    group.wait_copied_to("west", orders)
    # Fenced on the standby, and not copied: nothing of it is on the cluster that answers, apart from its DENYs.
    carts = group.create("east", "us.carts")
    with group.protection.clients() as clients:
        check_health(group.name, clients)
    assert carts in group.denied("west")
    assert not group.exists("west", carts)

    group.protection.lab.kill(disaster.broker)
    disaster.go(StepName.REPORT)

    assert disaster.state().active == "west"
    assert group.is_writable("west", orders)
    replicator = {"User:replicator"}
    assert group.denied("west") == {orders: replicator, carts: replicator}, "an application could never use it there"
    group.create("west", "us.carts")
    assert group.is_writable("west", carts)
    disaster.back()
    with group.protection.clients() as clients:
        check_health(group.name, clients)
    assert disaster.state().phase is Phase.DIVERGED
    assert not group.is_writable("east", orders)
    assert not group.is_writable("east", carts)
