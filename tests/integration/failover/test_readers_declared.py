"""Readers of the topics that are not declared are named before a failover, and so is what nobody could see."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.group_offsets.offset_preview import look
from kafka_dr.group_offsets.undeclared_readers import NAME, readers_declared
from kafka_dr.outcomes import Check
from kafka_dr.quoting import markdown
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.readers import ReadersSpec
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from support.outside_topics import member
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def _check(protection: Protection) -> Check:
    with protection.clients() as clients:
        return readers_declared(Run(protection.request("look"), clients), ("east", "west"))


def _acl(name: str, principal: str, resource: ResourceType, permission: AclPermission) -> Acl:
    operation = AclOperation.READ if resource is ResourceType.TOPIC else AclOperation.ALL
    return Acl(resource, name, PatternType.PREFIXED, principal, operation, permission)


def test_undeclared_readers_are_a_warning_on_the_approval_or_a_refusal_and_declared_ones_are_neither(
    protection: Protection,
) -> None:
    SwitchedGroup.adopt(protection)
    name, lake, dashboard = protection.name, f"lake-{protection.name}", f"dashboard-{protection.name}"
    assert _check(protection).outcome == "ok", _check(protection).detail

    # One group has committed and has no members, two are live, one is on the standby; many more read other topics.
    with protection.cluster("east", "admin") as admin:
        admin.acls.add([_acl(f"{name}.", "User:lake", ResourceType.TOPIC, AclPermission.ALLOW)])
        admin.topics.create(f"x{name}.log", partitions=1, replication_factor=1, config={})
        elsewhere = {TopicPartition(f"x{name}.log", 0): 0}
        admin.groups.set_offsets({f"many{number}-{name}": elsewhere for number in range(200)})
    protection.commit("east", lake, dict.fromkeys((TopicPartition(protection.topic, n) for n in (0, 1)), 7))
    with (
        member(protection, "east", dashboard, protection.topic, protocol="consumer"),
        member(protection, "west", dashboard, f"{name}.dr-canary"),
        protection.clients() as clients,
    ):
        request = protection.request("run-warned")
        preflight = run_step(StepName.PREFLIGHT, request, clients)
        body = ask_approval(request, clients).body
        shown = {check.name: check for check in preflight.checks}[NAME]
        assert shown.outcome == "excused"
        assert shown.detail == (
            f"not declared, and not moved: User:lake may read on east; {dashboard} reads {protection.topic} on east "
            f"(live members); {lake} reads {protection.topic} on east (2 positions); {dashboard} reads "
            f"{name}.dr-canary on west (live members). Declare them (principals and consumer_groups move, readers "
            "stay), or take their right to read"
        )
        assert markdown(shown.detail) in body
        assert [row["group"] for row in look(Run(request, clients)).report["undeclared_readers"]] == [
            dashboard,
            lake,
            dashboard,
        ]

        protection.changes["readers"] = ReadersSpec(undeclared="refuse", principals=("User:lake",))
        with protection.clients() as strict:
            refused = failed(StepName.PREFLIGHT, protection.request("run-refused"), strict)
        said = {check.name: check for check in refused.checks}[NAME]
        assert (refused.outcome, said.outcome) == ("refused", "failed")
        assert "User:lake" not in said.detail

        protection.changes["readers"] = ReadersSpec(
            undeclared="refuse",
            principals=("User:lake",),
            consumer_groups=(lake,),
            consumer_group_prefixes=("dashboard-",),
        )
        assert _check(protection).outcome == "ok", _check(protection).detail


def test_what_the_operator_may_not_see_is_unknown_and_named(protection: Protection) -> None:
    protection.adopt()
    hidden = f"hidden-{protection.name}"
    protection.commit("east", hidden, {TopicPartition(protection.topic, 0): 0})
    deny = _acl(hidden, "User:dr-operator", ResourceType.GROUP, AclPermission.DENY)
    with protection.cluster("east", "admin") as admin:
        admin.acls.add([deny])
        try:
            warned = _check(protection)
            protection.changes["readers"] = ReadersSpec(undeclared="refuse")
            refused = _check(protection)
        finally:
            admin.acls.remove([deny])
    assert (warned.outcome, refused.outcome) == ("excused", "unknown")
    assert warned.detail == refused.detail
    assert warned.detail.startswith(f"not known: {hidden} on east: ")
    assert "User:dr-operator may not describe every consumer group on east: give it DESCRIBE on" in warned.detail
