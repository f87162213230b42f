"""A group that was taken over, whose old replication still runs, and topics that a pattern comes to match."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.health.health_check import check_health
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from support.patterned_group import PatternedGroup
from support.protection import Protection

pytestmark = pytest.mark.kafka
OLD = rights.DRILL


@pytest.fixture
def group(protection: Protection) -> PatternedGroup:
    """A group with a pattern whose record and journal say that it was adopted by a take over."""
    made = PatternedGroup.declared(protection)
    with protection.cluster("west", "admin") as admin:
        admin.acls.add(
            Acl(
                ResourceType.TOPIC,
                made.begin,
                PatternType.PREFIXED,
                f"User:{OLD}",
                operation,
                AclPermission.ALLOW,
            )
            for operation in (AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE)
        )
    made.write("east", made.create("east", "eu.orders"))
    with protection.clients() as clients:
        adopt(made.name, clients, "adoption")
        for register in (clients.register("east"), clients.register("west")):
            state = register.read(made.name)
            assert state is not None
            seed = register.facts(made.name, state.run)[FLOW_SEED]
            register.write_fact(made.name, state.run, FLOW_SEED, {**seed, "mode": "take_over"})
            register.compare_and_set(state, replace(state, revision=state.revision + 1, verb="take_over"))
    spec = ExistingReplicationSpec(replicator="external", principal=f"User:{OLD}")
    protection.changes.update({"existing_replication": spec, "drill": None})
    return made


def look(group: PatternedGroup, *, at_flows: bool = False) -> WatchResult:
    with group.protection.clients() as clients:
        return reconcile_flows(group.name, clients) if at_flows else check_health(group.name, clients)


def old_copies(group: PatternedGroup, topic: str) -> None:
    with group.protection.cluster("west", OLD) as client:
        client.writing.append(NewRecord(TopicPartition(topic, 0), b"k", b"v") for _ in range(5))


@pytest.mark.long
def test_a_new_topic_that_the_old_replication_has_copied_first_is_named_and_never_copied_a_second_time(
    group: PatternedGroup,
) -> None:
    orders = f"{group.begin}eu.orders"
    assert f"User:{OLD}" not in group.denied("west")[orders]
    found = look(group)
    assert group.denied("west")[orders] >= {f"User:{OLD}"}, "the journal says that it has to be kept out"
    assert found.outcome == "failed"
    assert look(group, at_flows=True).outcome == "ok"
    group.wait_copied_to("west", orders)

    first, later = (group.create("east", topic) for topic in ("us.first", "us.later"))
    for topic in (first, later):
        group.write("east", topic)
    group.create("west", "us.first")
    old_copies(group, first)
    look(group, at_flows=True)
    look(group)
    for topic in (first, later):
        assert group.denied("west")[topic] >= {f"User:{OLD}"}
    with pytest.raises(NotAuthorized):
        old_copies(group, first)

    found = look(group, at_flows=True)
    assert found.outcome == "failed"
    (said,) = (each for each in found.sentences if "records on west" in each)
    assert first in said
    assert later not in said
    group.wait_copied_to("west", later)
    assert group.records("west", first) == 5, "the copy that was there, once"

    with group.protection.cluster("west", "admin") as admin:
        admin.topics.delete([first])
    found = look(group, at_flows=True)
    assert found.outcome == "ok", found.sentences
    group.wait_copied_to("west", first)
    found = look(group)
    assert found.outcome == "ok", found.sentences
