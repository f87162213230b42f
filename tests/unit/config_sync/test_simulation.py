from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.config_sync import gate
from kafka_dr.config_sync.simulation import compare_access
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import APP, OTHER_APP, STRANGER, acl, side, topic


def test_an_application_that_could_no_longer_produce_is_named_with_its_topics(planned: Any) -> None:
    topics = topic(), topic("orders.invoices")
    plan = planned(side("east", *topics, acls=frozenset({acl()})), side("west", *topics))
    assert [str(access) for access in plan.access] == [
        "User:orders-app could no longer produce to orders.invoices, orders.payments"
    ]
    assert plan.access_after == ()


def test_committing_is_a_right_of_its_own(planned: Any) -> None:
    reads = acl(operation=AclOperation.READ)
    commits = acl(operation=AclOperation.READ, name="orders-", resource=ResourceType.GROUP)
    active = side("east", topic(), acls=frozenset({reads, commits}), groups=frozenset({"orders-a"}))
    plan = planned(active, side("west", topic(), acls=frozenset({reads})))
    assert [(access.deed, access.names) for access in plan.access] == [("commit for", ("orders-", "orders-a"))]


def test_who_could_do_more_than_now_is_named_too(planned: Any) -> None:
    plan = planned(side("east", topic()), side("west", topic(), acls=frozenset({acl(STRANGER)})))
    (access,) = plan.access
    assert (access.lost, access.declared) == (False, False)
    assert str(access) == "User:analyst could, unlike now, produce to orders.payments"


def test_a_foreign_deny_on_the_standby_takes_rights_away(planned: Any) -> None:
    deny = acl(name="orders.payments", pattern=PatternType.LITERAL, permission=AclPermission.DENY)
    both = frozenset({acl()})
    plan = planned(side("east", topic(), acls=both), side("west", topic(), acls=both | {deny}))
    assert [(access.principal, access.lost) for access in plan.access] == [(APP, True)]


@pytest.mark.parametrize("pattern", PatternType)
@pytest.mark.parametrize(
    ("resource", "operation", "name", "deed"),
    [
        (ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE, "billing-7", "write transactions as"),
        (ResourceType.GROUP, AclOperation.READ, "orders-not-yet-there", "commit for"),
        (ResourceType.TOPIC, AclOperation.WRITE, "orders.not-yet-there", "produce to"),
    ],
)
def test_a_name_that_only_an_acl_knows_is_asked_about(
    planned: Any, resource: ResourceType, operation: AclOperation, name: str, deed: str, pattern: PatternType
) -> None:
    needed = frozenset({acl(APP, operation, name, resource=resource, pattern=pattern)})
    plan = planned(side("east", topic(), acls=needed), side("west", topic()))
    assert [(access.deed, access.names, access.lost) for access in plan.access] == [(deed, (name,), True)]
    assert gate.ask(plan).outcome == "failed"
    refused = frozenset({replace(next(iter(needed)), permission=AclPermission.DENY)})
    plan = planned(side("east", topic(), acls=needed), side("west", topic(), acls=needed | refused))
    assert [(access.deed, access.names, access.lost) for access in plan.access] == [(deed, (name,), True)]


def test_a_right_that_counts_from_another_address_is_not_the_same(planned: Any) -> None:
    here, there = (frozenset({replace(acl(), host=host)}) for host in ("*", "10.0.0.1"))
    plan = planned(side("east", topic(), acls=here), side("west", topic(), acls=there))
    assert [str(access) for access in plan.access] == [
        "User:orders-app could no longer produce to orders.payments from other addresses"
    ]
    assert gate.ask(plan).outcome == "failed"


def test_names_of_others_and_of_the_register_are_nobodys_business(planned: Any) -> None:
    foreign = [
        acl(name="carts.new"),
        acl(name="_kafka_dr.register"),
        acl(name="carts-1", resource=ResourceType.TRANSACTIONAL_ID),
        acl(name="carts-1", resource=ResourceType.GROUP, operation=AclOperation.READ),
    ]
    assert planned(side("east", topic(), acls=frozenset(foreign)), side("west", topic())).access == ()


def test_a_standby_that_is_stricter_about_what_no_acl_names_is_named(planned: Any) -> None:
    plan = planned(side("east", topic(), open_to_all=True), side("west", topic()))
    assert {(access.principal, access.lost) for access in plan.access} >= {(APP, True), (OTHER_APP, True)}
    assert planned(side("east", topic(), open_to_all=True), side("west", topic(), open_to_all=True)).access == ()


ACLS = st.frozensets(
    st.builds(
        Acl,
        st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
        st.sampled_from(["orders.", "orders.a", "*", "orders-", "o"]),
        st.sampled_from(PatternType),
        st.sampled_from([APP, OTHER_APP, "User:*", STRANGER]),
        st.sampled_from([AclOperation.READ, AclOperation.WRITE, AclOperation.ALL]),
        st.sampled_from(AclPermission),
        st.sampled_from(["*", "10.0.0.1"]),
    ),
    max_size=6,
)


@given(ACLS, ACLS, st.tuples(st.booleans(), st.booleans()))
def test_it_says_what_the_authorizer_says_about_each_name(
    group: ProtectionGroup, here: frozenset[Acl], there: frozenset[Acl], open_to_all: tuple[bool, bool]
) -> None:
    topics = ("orders.a", "orders.b")
    found = compare_access(here, there, group, topics=topics, groups=(), open_to_all=open_to_all)
    said = {(a.principal, name.split()[0], a.lost) for a in found if a.deed == "produce to" for name in a.names}
    expected = set()
    allowed = {each.principal for each in here | there if each.permission is AclPermission.ALLOW}
    # A right of everybody is in the row of User:*; strangers are named where an ACL names them.
    for principal in {APP, OTHER_APP} | allowed:
        for name in topics:
            for host in ("10.0.0.1", "10.0.0.2"):
                may, would = (
                    Authorizer(acls, allow_if_no_acl=is_open).allows(
                        principal, AclOperation.WRITE, ResourceType.TOPIC, name, host=host
                    )
                    for acls, is_open in zip((here, there), open_to_all, strict=True)
                )
                if may != would:
                    expected.add((principal, name, may))
    assert said == expected
