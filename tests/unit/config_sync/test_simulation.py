from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.config_sync.simulation import compare_access
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.topology import ProtectionGroup
from support.config_sides import APP, OTHER_APP, STRANGER, acl, side, topic


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


@given(ACLS, ACLS)
def test_it_says_what_the_authorizer_says_about_each_name(
    group: ProtectionGroup, here: frozenset[Acl], there: frozenset[Acl]
) -> None:
    topics = ("orders.a", "orders.b")
    found = compare_access(here, there, group, topics=topics, groups=())
    said = {(a.principal, name, a.lost) for a in found if a.deed == "produce to" for name in a.names}
    expected = set()
    allowed = {each.principal for each in here | there if each.permission is AclPermission.ALLOW}
    # A right of everybody's stands in the row of User:*; strangers are named where an ACL names them.
    for principal in {APP, OTHER_APP} | allowed:
        for name in topics:
            may, would = (
                Authorizer(acls).allows(principal, AclOperation.WRITE, ResourceType.TOPIC, name)
                for acls in (here, there)
            )
            if may != would:
                expected.add((principal, name, may))
    assert said == expected
