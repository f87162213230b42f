"""The rights that the guide lists are what a run needs: each one that is missing is named, and is unknown."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.closure import closing
from kafka_dr.readiness_checks.rights import judge_rights, needed_rights, without_fences
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from lab.allowed import allowed_on
from lab.clusters import EAST
from support.sentences import assert_sentence

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"


@pytest.fixture
def group(tmp_path: Path) -> ProtectionGroup:
    environ = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST", "VANTAGE")}
    return load(TOPOLOGY, {**environ, "KAFKA_DR_LAB_HOME": str(tmp_path)}).group("orders")


@pytest.fixture
def granted() -> frozenset[Acl]:
    """Return every ALLOW of the guide's table, as the lab gives it on its first cluster."""
    return frozenset(allowed_on(EAST, (("west", "east"),)))


def lacking(group: ProtectionGroup, acls: Collection[Acl], topics: Collection[str] = ()) -> list[str]:
    authorizer = Authorizer(without_fences(group, acls), group.super_users)
    return [said for each in needed_rights(group, topics) for said in each.lacking(authorizer)]


def test_nothing_is_lacking_with_the_rights_of_the_guide_on_an_active_cluster_and_on_a_standby(
    group: ProtectionGroup, granted: frozenset[Acl]
) -> None:
    closed = frozenset(map(closing, plan.standby(group)))
    for fence in (frozenset[Acl](), plan.flow_fence(group), plan.standby(group), closed):
        assert lacking(group, granted | fence) == []


@pytest.mark.parametrize(
    ("principal", "resource", "name", "operation", "said"),
    [
        ("dr-operator", "CLUSTER", "kafka-cluster", "ALTER", "User:dr-operator lacks ALTER on the cluster"),
        ("dr-operator", "TOPIC", "_kafka_dr.", "WRITE", "lacks WRITE on topic _kafka_dr.register, _kafka_dr.digests"),
        ("replicator", "TOPIC", "orders.", "WRITE", "User:replicator lacks WRITE on topic orders."),
        ("probe", "GROUP", "billing-", "READ", "User:probe lacks READ on group billing-"),
        ("audit", "TOPIC", "orders.", "READ", "User:audit lacks READ on topic orders."),
        ("dr-operator", "TRANSACTIONAL_ID", "*", "WRITE", "on transactional id kafka-dr-register-orders, billing-"),
    ],
)
def test_a_right_that_was_taken_away_is_named(
    group: ProtectionGroup,
    granted: frozenset[Acl],
    principal: str,
    resource: str,
    name: str,
    operation: str,
    said: str,
) -> None:
    taken = {
        acl
        for acl in granted
        if (acl.principal, acl.resource.name, acl.name, acl.operation)
        == (f"User:{principal}", resource, name, operation)
    }
    assert len(taken) == 1
    assert said in "; ".join(lacking(group, granted - taken))


def test_a_deny_of_somebody_else_takes_a_right_away(group: ProtectionGroup, granted: frozenset[Acl]) -> None:
    deny = Acl(
        ResourceType.TOPIC,
        "orders.",
        PatternType.PREFIXED,
        "User:probe",
        AclOperation.READ,
        AclPermission.DENY,
    )
    assert any("User:probe lacks READ on topic orders." in said for said in lacking(group, {*granted, deny}))


def test_a_deny_on_one_topic_that_a_prefix_covers_takes_a_right_away(
    group: ProtectionGroup, granted: frozenset[Acl]
) -> None:
    deny = Acl(
        ResourceType.TOPIC,
        "orders.payments",
        PatternType.LITERAL,
        "User:replicator",
        AclOperation.WRITE,
        AclPermission.DENY,
    )
    found = lacking(group, {*granted, deny}, ["orders.created", "orders.payments"])
    assert_sentence(found)


@pytest.mark.parametrize("resource", [ResourceType.TOPIC, ResourceType.GROUP])
def test_an_operator_that_does_not_see_everything_is_named(
    group: ProtectionGroup, granted: frozenset[Acl], resource: ResourceType
) -> None:
    taken = {
        acl
        for acl in granted
        if (acl.principal, acl.resource, acl.name) == ("User:dr-operator", resource, "*")
        and acl.operation is AclOperation.DESCRIBE
    }
    assert len(taken) == 1
    assert_sentence("; ".join(lacking(group, granted - taken)))


def test_what_is_not_granted_is_unknown_and_not_everything_is_repeated() -> None:
    found = judge_rights([f"User:a lacks READ on topic t{number} on west" for number in range(6)], ["east", "west"])
    assert found.outcome == "unknown"
    assert_sentence(found.detail)
    assert judge_rights([], ["west"]).outcome == "ok"
