from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clusters import AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup

TOPOLOGY = Path(__file__).resolve().parents[3] / "include" / "topology.yaml"
ENVIRON = {
    **os.environ,
    "KAFKA_DR_LAB_HOME": "/srv/lab",
    "KAFKA_DR_LAB_EAST": "e:1",
    "KAFKA_DR_LAB_WEST": "w:1",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
LAB = load(TOPOLOGY, ENVIRON).protection_groups["orders"]
GROUPS: dict[str, dict[str, Any]] = {
    "as the lab's": {},
    "all literal": {
        "topics": ("orders.a", "orders.b"), "topic_prefixes": (), "consumer_groups": ("g",),
        "consumer_group_prefixes": (), "transactional_ids": ("t",), "transactional_id_prefixes": (),
    },
    "topics alone": {"consumer_group_prefixes": (), "transactional_id_prefixes": ()},
}  # fmt: skip


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest) -> ProtectionGroup:
    return LAB.model_copy(update=GROUPS[request.param])


def test_no_fence_touches_everyone_the_operator_or_a_super_user(group: ProtectionGroup) -> None:
    denied = {acl.principal for acl in plan.standby(group) | plan.flow_fence(group)}
    assert denied.isdisjoint({EVERYONE, group.operator_principal, *group.super_users})


def test_only_the_flow_fence_touches_the_replicator_and_nobody_else(group: ProtectionGroup) -> None:
    assert {acl.principal for acl in plan.standby(group)} == {*group.principals, group.probe_principal}
    assert {acl.principal for acl in plan.flow_fence(group)} == {group.replicator_principal}


def test_every_fence_is_made_of_denies_from_any_address(group: ProtectionGroup) -> None:
    acls = plan.standby(group) | plan.flow_fence(group)
    assert {acl.permission for acl in acls} == {AclPermission.DENY}
    assert {acl.host for acl in acls} == {"*"}


def test_a_standby_refuses_applications_writes_transactions_and_reads_by_every_name_of_the_group() -> None:
    found = {(a.principal, a.operation, a.resource, a.name, a.pattern) for a in plan.standby(LAB)}
    topic, ids, groups = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP
    write, read, prefix = AclOperation.WRITE, AclOperation.READ, PatternType.PREFIXED
    applications = {
        (app, *rest)
        for app in ("User:orders-app", "User:billing-app")
        for rest in [
            (write, topic, "orders.", prefix), (read, topic, "orders.", prefix), (write, ids, "billing-", prefix),
            (read, groups, "orders-", prefix), (read, groups, "billing-", prefix),
            *((operation, topic, "orders.", prefix) for operation in plan.CHANGES[topic]),
            (AclOperation.DELETE, groups, "orders-", prefix), (AclOperation.DELETE, groups, "billing-", prefix),
        ]
    }  # fmt: skip
    probe = {
        ("User:probe", write, topic, "orders.", prefix),
        ("User:probe", read, groups, "orders-", prefix),
        ("User:probe", read, groups, "billing-", prefix),
    }
    assert found == applications | probe


def test_the_canary_topic_is_fenced_also_where_no_declared_name_covers_it(group: ProtectionGroup) -> None:
    for fence in (plan.write_fence, plan.probe_fence, plan.flow_fence):
        names = [(acl.name, acl.pattern) for acl in fence(group)]
        assert any(
            group.canary_topic == name or (pattern is PatternType.PREFIXED and group.canary_topic.startswith(name))
            for name, pattern in names
        )


def test_the_probe_keeps_reading_canaries_and_describing_after_the_fence(group: ProtectionGroup) -> None:
    probes = plan.probe_fence(group) | plan.probe_freeze(group)
    assert {(acl.operation, acl.resource) for acl in probes} <= {
        (AclOperation.WRITE, ResourceType.TOPIC), (AclOperation.READ, ResourceType.GROUP),
    }  # fmt: skip


def test_the_parts_of_a_standby_do_not_overlap_so_that_stages_can_follow_each_other(group: ProtectionGroup) -> None:
    parts = [
        plan.write_fence(group), plan.transaction_fence(group), plan.group_freeze(group),
        plan.probe_fence(group), plan.probe_freeze(group), plan.change_fence(group),
    ]  # fmt: skip
    assert sum(map(len, parts)) == len(plan.standby(group)) == len(frozenset().union(*parts))


def test_what_keeps_nobody_from_working_is_set_last_and_denies_nobody(group: ProtectionGroup) -> None:
    work, probe, changes = plan.standby_in_order(group)

    assert changes == plan.change_fence(group)
    assert plan.work_denies(group) == work | probe
    assert {acl.operation for acl in work | probe} == {AclOperation.WRITE, AclOperation.READ}
    assert {acl.operation for acl in changes}.isdisjoint({AclOperation.WRITE, AclOperation.READ})


def test_the_largest_group_that_was_thought_of_needs_three_times_as_many_denies_as_before() -> None:
    names = {
        "topics": tuple(f"t{number}" for number in range(100)),
        "topic_prefixes": (),
        "consumer_groups": tuple(f"g{number}" for number in range(150)),
        "consumer_group_prefixes": (),
        "principals": tuple(f"User:{number}" for number in range(30)),
    }
    large = LAB.model_copy(update=names)

    assert len(plan.work_denies(large)) == 10_841
    assert len(plan.standby(large)) == 10_841 + 101 * 4 * 30 + 150 * 30


def test_what_was_there_before_an_adoption_is_denied_by_its_own_principal_alone(group: ProtectionGroup) -> None:
    assert plan.existing_fence(group, "west") == plan.existing_change_fence(group, "west") == frozenset()
    spec = ExistingReplicationSpec(replicator="external", principal="User:old")
    taken_over = group.model_copy(update={"existing_replication": spec})
    writes, changes = plan.existing_fence(taken_over, "west"), plan.existing_change_fence(taken_over, "west")
    assert {acl.principal for acl in writes | changes} == {"User:old"}
    assert {(acl.operation, acl.resource) for acl in writes} == {(AclOperation.WRITE, ResourceType.TOPIC)}
    assert AclOperation.WRITE not in {acl.operation for acl in changes}
    assert not (writes | changes) & (plan.standby(taken_over) | plan.flow_fence(taken_over))
    own = spec.model_copy(update={"principal": group.replicator_principal})
    kept = group.model_copy(update={"existing_replication": own})
    assert plan.existing_fence(kept, "west") == plan.existing_change_fence(kept, "west") == frozenset(), (
        "this project's flow writes as it"
    )


def test_what_was_there_before_is_denied_the_copies_that_it_made_and_the_topics_of_applications(
    group: ProtectionGroup,
) -> None:
    spec = ExistingReplicationSpec(replicator="external", principal="User:old")
    flow = group.flow.model_copy(update={"naming": "default", "separator": "-"})
    named = group.model_copy(update={"flow": flow, "existing_replication": spec})
    own = {acl.name for acl in plan.flow_fence(named)}
    assert {acl.name for acl in plan.existing_fence(named, "west")} == own | {f"east-{name}" for name in own}
    changed = {acl.name for acl in plan.existing_change_fence(named, "west") if acl.resource is ResourceType.TOPIC}
    assert changed == own | {f"east-{name}" for name in own}


def test_the_fence_of_copies_with_other_names_is_about_them_and_about_nothing_else(group: ProtectionGroup) -> None:
    named = group.model_copy(update={"flow": group.flow.model_copy(update={"naming": "default"})})
    fence = plan.copy_fence(named, "west")
    assert {acl.name for acl in fence} == {f"east.{acl.name}" for acl in plan.flow_fence(named)}
    assert {acl.principal for acl in fence} == {*group.principals, group.probe_principal}
    assert plan.copy_fence(group, "west") == frozenset() == plan.apart(group, "west")
    assert {acl.name for acl in plan.copy_flow_fence(named, "east", "west")} == {acl.name for acl in fence}
    assert plan.fence_of_flow(group, "east", "west") == plan.flow_fence(group)
