"""Principals that may change a fenced cluster in spite of the fence are named, with each right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.checks.change_rights import ChangeRights, change_rights
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from lab.layout import PROJECT
from support.sentences import assert_sentence

APP, STRANGER = "User:orders-app", "User:intruder"
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
CREATE, DELETE, ALTER = AclOperation.CREATE, AclOperation.DELETE, AclOperation.ALTER


@pytest.fixture(scope="module")
def group() -> ProtectionGroup:
    environ = {
        "KAFKA_DR_LAB_HOME": "/lab",
        "KAFKA_DR_LAB_EAST": "localhost:1",
        "KAFKA_DR_LAB_WEST": "localhost:2",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    return load(Path(PROJECT / "include" / "topology.yaml"), environ).group("orders")


def allow(
    who: str,
    operation: AclOperation,
    name: str = "orders.",
    *,
    kind: ResourceType = TOPIC,
    pattern: PatternType = PatternType.PREFIXED,
) -> Acl:
    return Acl(kind, name, pattern, who, operation, AclPermission.ALLOW)


def found(group: ProtectionGroup, *acls: Acl, fenced: bool = True, super_users: tuple[str, ...] = ()) -> ChangeRights:
    fence = plan.standby(group) if fenced else frozenset()
    return change_rights(Authorizer({*acls, *fence}, super_users), group, topics=["orders.payments"])


def test_a_declared_application_may_change_nothing_after_the_fence(group: ProtectionGroup) -> None:
    everything = [allow(APP, AclOperation.ALL), allow(APP, AclOperation.ALL, "orders-", kind=GROUP)]

    rights = found(group, *everything, fenced=False).rights[APP]
    assert rights == ("CREATE topics", "DELETE topics", "ALTER topics", "ALTER_CONFIGS topics", "DELETE groups")
    assert found(group, *everything) == ChangeRights()


@pytest.mark.parametrize(
    "right",
    [
        allow(STRANGER, DELETE),
        allow(STRANGER, DELETE, "orders.payments", pattern=PatternType.LITERAL),
        # A topic that does not exist yet.
        allow(STRANGER, CREATE, "orders.new."),
        allow(STRANGER, ALTER, "*", pattern=PatternType.LITERAL),
        allow(STRANGER, DELETE, "orders-", kind=GROUP),
        allow("User:*", DELETE),
        allow(APP, CREATE, "kafka-cluster", kind=CLUSTER),
    ],
    ids=str,
)
def test_a_principal_that_the_fence_does_not_stop_is_named(group: ProtectionGroup, right: Acl) -> None:
    (sentence,) = found(group, right).others(group.principals)

    assert_sentence(sentence)


def test_operator_replicator_and_powerless_principals_are_not_named(group: ProtectionGroup) -> None:
    rights = [
        allow(group.operator_principal, AclOperation.ALTER_CONFIGS),
        allow(group.replicator_principal, CREATE),
        allow(STRANGER, DELETE, "carts."),
        allow(STRANGER, AclOperation.WRITE),
    ]
    assert found(group, *rights, super_users=tuple(group.super_users)) == ChangeRights()


def test_a_deny_that_somebody_else_added_counts_as_well(group: ProtectionGroup) -> None:
    deny = Acl(TOPIC, "orders.", PatternType.PREFIXED, STRANGER, DELETE, AclPermission.DENY)

    assert found(group, allow(STRANGER, DELETE), deny) == ChangeRights()


def test_a_right_to_create_what_a_pattern_could_match_changes_nothing_that_exists(group: ProtectionGroup) -> None:
    """No DENY can be on a topic that nobody has created, and the group of an application with a prefix has to move."""
    names = {"topics": (), "topic_prefixes": (), "topic_patterns": (r"orders\..*",)}
    by_pattern = group.model_copy(update=names).with_matched(["orders.payments"])
    rights = [allow(APP, AclOperation.ALL), allow(APP, CREATE, "orders.new", pattern=PatternType.LITERAL)]

    assert APP not in found(by_pattern, *rights).rights
    assert found(by_pattern, *rights, fenced=False).rights[APP][0] == "CREATE topics"
    assert found(by_pattern, allow(STRANGER, DELETE)).rights == {STRANGER: ("DELETE topics",)}
