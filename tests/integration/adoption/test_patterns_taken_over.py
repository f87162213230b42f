"""A group with topics by pattern whose replication is taken over, and a topic that appears after that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from support.existing_flow import PRINCIPAL, ExistingFlow
from support.patterned_group import PatternedGroup
from support.taking_over import TakingOver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.mark.long
def test_the_former_replication_is_closed_out_of_topics_of_patterns_also_of_those_that_come_later(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    protection = existing.protection
    group = PatternedGroup.declared(protection)
    existing.begins = (group.begin,)
    existing.allow()
    orders = group.create("east", "eu.orders")
    group.write("east", orders)
    existing.start()
    group.wait_copied_to("west", orders)

    with protection.clients() as clients:
        TakingOver(protection, spark).take_over(clients)

    kept_out = {f"User:{PRINCIPAL}", f"User:{rights.ORDERS_APP}"}
    assert group.denied("west")[orders] >= kept_out
    carts = group.create("east", "us.carts")
    with protection.clients() as clients:
        check_health(group.name, clients)
        assert group.denied("west")[carts] >= kept_out
        reconcile_flows(group.name, clients)
    group.write("east", carts)
    group.wait_copied_to("west", carts)
    assert not group.is_writable("west", carts)
