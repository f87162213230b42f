"""Which rights reach the register: shown although both clusters have them, never given, and silent where denied."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.config_sync.items import AddAcl, ItemVerdict
from kafka_dr.config_sync.plan import Plan, make_plan
from kafka_dr.config_sync.register_rights import REGISTER_RIGHT
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import APP, STRANGER, acl, side, topic

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
OWN = frozenset({"_kafka_dr.register", "_kafka_dr.rescued", "_kafka_dr.selftest"})


def plan_of(planned: Any, here: set[Acl], there: set[Acl]) -> Plan:
    sides = (("east", here), ("west", there))
    plan: Plan = planned(*(side(name, topic(), acls=frozenset(acls), own_topics=OWN) for name, acls in sides))
    return plan


@pytest.mark.parametrize(
    ("kind", "name", "pattern", "operation", "reached"),
    [
        (TOPIC, "*", LITERAL, AclOperation.WRITE, "_kafka_dr.register"),
        (TOPIC, "", PREFIXED, AclOperation.WRITE, "_kafka_dr.register"),
        (TOPIC, "_kafka_dr.", PREFIXED, AclOperation.ALL, "_kafka_dr.register"),
        (TOPIC, "_kafka_dr.register", LITERAL, AclOperation.DELETE, "_kafka_dr.register"),
        (TOPIC, "_kafka_dr.register", LITERAL, AclOperation.ALTER_CONFIGS, "_kafka_dr.register"),
        (TOPIC, "_kafka_dr.rescued", LITERAL, AclOperation.WRITE, "_kafka_dr.rescued"),
        (ID, "kafka", PREFIXED, AclOperation.WRITE, "kafka-dr-register-orders"),
        (ID, "kafka-dr-register-orders", LITERAL, AclOperation.WRITE, "kafka-dr-register-orders"),
        (ID, "kafka-dr-config-", PREFIXED, AclOperation.ALL, "kafka-dr-config-orders"),
        (ID, "kafka-dr-rescue-", PREFIXED, AclOperation.WRITE, "kafka-dr-rescue-orders"),
        (TOPIC, "_kafka_dr.register", LITERAL, AclOperation.READ, None),
        (TOPIC, "_kafka_dr.selftest", LITERAL, AclOperation.WRITE, None),
        (TOPIC, "orders.", PREFIXED, AclOperation.WRITE, None),
        (ID, "billing-", PREFIXED, AclOperation.WRITE, None),
    ],
)
@pytest.mark.parametrize("who", [APP, STRANGER])
def test_a_right_that_reaches_the_register_is_named_although_both_clusters_have_it(
    planned: Any, who: str, kind: ResourceType, name: str, pattern: PatternType, operation: AclOperation, reached: Any
) -> None:
    right = acl(who, name=name, resource=kind, pattern=pattern, operation=operation)
    rows = plan_of(planned, {right}, {right}).items
    if reached is None:
        assert rows == ()
    else:
        (row,) = rows
        shown = (row.key, row.subject, row.active, row.standby, row.verdict, row.change)
        assert shown == (REGISTER_RIGHT, str(right), "there", "there", ItemVerdict.NEVER, None)
        assert who in row.reason
        assert reached in row.reason
        assert "deny it on the prefixes _kafka_dr. (topics) and kafka-dr- (transactional ids)" in row.reason


def test_no_plan_gives_a_right_that_reaches_the_register_unless_the_standby_denies_it(planned: Any) -> None:
    everywhere = acl(name="*", pattern=LITERAL)
    rows = {row.key: row for row in plan_of(planned, {everywhere}, set()).items}
    assert {key: (row.active, row.standby, row.verdict, row.change) for key, row in rows.items()} == {
        "": ("there", None, ItemVerdict.NEVER, None),
        REGISTER_RIGHT: ("there", None, ItemVerdict.NEVER, None),
    }
    assert "it would open the register: User:orders-app has WRITE on the topic _kafka_dr.register" in rows[""].reason
    deny = acl(name="_kafka_dr.", permission=AclPermission.DENY)
    (row,) = plan_of(planned, {everywhere, deny}, {deny}).items
    assert (row.verdict, row.change) == (ItemVerdict.APPROVAL, AddAcl(everywhere))


def test_the_projects_own_principals_and_super_users_are_not_named(group: ProtectionGroup) -> None:
    own = {
        acl(group.operator_principal, name="*", pattern=LITERAL, operation=AclOperation.ALL),
        acl(group.probe_principal, name="kafka-dr-rescue-", resource=ID),
        acl("User:admin", name="*", pattern=LITERAL, operation=AclOperation.ALL),
    }
    named = group.model_copy(update={"super_users": ("User:admin",)})
    sides = [side(name, topic(), acls=frozenset(own), own_topics=OWN) for name in ("east", "west")]
    assert make_plan(sides[0], sides[1], named, epoch=1).items == ()


def test_where_no_acl_names_the_register_everybody_may_write_it(planned: Any) -> None:
    sides = [side(name, topic(), own_topics=OWN, open_to_all=True) for name in ("east", "west")]
    (row,) = [row for row in planned(*sides).items if row.key == REGISTER_RIGHT]
    assert row.subject == "no ACL names the register, so User:* may write it"
