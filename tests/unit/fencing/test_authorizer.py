from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer

APP, OTHER = "User:app", "User:other"
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL


def acl(name: str, *, permission: str = "ALLOW", principal: str = APP, operation: AclOperation = WRITE, host: str = "*",
        resource: ResourceType = ResourceType.TOPIC) -> Acl:  # fmt: skip
    """Return an ACL; a name that ends in ``.*`` is a prefix, ``*`` alone is the wildcard."""
    prefixed = name.endswith(".*")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return Acl(
        resource, name[:-1] if prefixed else name, pattern, principal, operation, AclPermission(permission), host
    )


def deny(name: str, **fields: object) -> Acl:
    return acl(name, permission="DENY", **fields)  # type: ignore[arg-type]


def may_write(*acls: Acl, principal: str = APP, host: str = "*", topic: str = "orders.payments") -> bool:
    return Authorizer(frozenset(acls)).allows(principal, WRITE, ResourceType.TOPIC, topic, host=host)


@pytest.mark.parametrize("name", ["orders.payments", "orders.*", "*"])
def test_literal_prefixed_and_wildcard_names_reach_a_topic(name: str) -> None:
    assert may_write(acl(name))


@pytest.mark.parametrize("name", ["orders", "orders.payments2", "billing.*", "orders.payments.*"])
def test_other_names_do_not_reach_it(name: str) -> None:
    assert not may_write(acl(name))


def test_a_prefix_that_is_a_star_reaches_only_names_that_begin_so() -> None:
    star = Acl(ResourceType.TOPIC, "*", PatternType.PREFIXED, APP, WRITE, AclPermission.ALLOW)
    assert not may_write(star)
    assert may_write(star, topic="*odd")


def test_an_acl_of_another_kind_of_resource_does_not_reach_a_topic() -> None:
    assert not may_write(acl("orders.payments", resource=ResourceType.GROUP))


def test_what_everyone_may_this_principal_may() -> None:
    assert may_write(acl("orders.*", principal=EVERYONE))
    assert not may_write(acl("orders.*", principal=OTHER))


@pytest.mark.parametrize("name", ["orders.payments", "orders.*", "*"])
@pytest.mark.parametrize("principal", [APP, EVERYONE])
@pytest.mark.parametrize("operation", [WRITE, ALL])
def test_a_deny_wins_over_every_allow(name: str, principal: str, operation: AclOperation) -> None:
    allowed = (acl("orders.payments"), acl("*", principal=EVERYONE, operation=ALL))
    assert not may_write(*allowed, deny(name, principal=principal, operation=operation))


def test_a_deny_to_another_principal_or_of_another_operation_changes_nothing() -> None:
    assert may_write(acl("orders.*"), deny("orders.*", principal=OTHER), deny("orders.*", operation=READ))


def test_write_allows_describe_but_denying_write_does_not_deny_it() -> None:
    authorizer = Authorizer(frozenset({acl("orders.*"), acl("orders.*", operation=READ), deny("orders.*")}))
    assert authorizer.allows(APP, DESCRIBE, ResourceType.TOPIC, "orders.x")
    assert not authorizer.allows(APP, WRITE, ResourceType.TOPIC, "orders.x")


def test_readers_are_found_as_writers_are_and_apart_from_them() -> None:
    acls = (acl("orders.*"), acl("orders.*", principal=OTHER, operation=READ), acl("stock.*", operation=READ))
    authorizer = Authorizer(frozenset(acls), ("User:admin",))
    assert authorizer.readers(["orders.payments"]) == {OTHER, "User:admin"}
    assert authorizer.writers(["orders.payments"]) == {APP, "User:admin"}
    everybody = Authorizer(frozenset({acl("*", principal=EVERYONE, operation=READ)}))
    assert EVERYONE in everybody.readers(["orders.payments"])


def may_describe_everything(*acls: Acl, super_users: tuple[str, ...] = (), open_to_all: bool = False) -> bool:
    authorizer = Authorizer(frozenset(acls), super_users, allow_if_no_acl=open_to_all)
    return authorizer.allows_everywhere(APP, DESCRIBE, ResourceType.TOPIC)


def test_everything_is_allowed_by_a_wildcard_or_to_a_super_user_and_by_nothing_narrower() -> None:
    assert may_describe_everything(acl("*", operation=DESCRIBE))
    assert may_describe_everything(acl("*", principal=EVERYONE, operation=READ))
    assert may_describe_everything(super_users=(APP,))
    assert not may_describe_everything()
    assert not may_describe_everything(acl("orders.*", operation=DESCRIBE), acl("stock.*", operation=DESCRIBE))
    assert not may_describe_everything(acl("*", operation=DESCRIBE, resource=ResourceType.GROUP))


@pytest.mark.parametrize("name", ["stock.items", "stock.*", "*"])
def test_nor_where_one_name_is_denied(name: str) -> None:
    assert not may_describe_everything(acl("*", operation=DESCRIBE), deny(name, operation=DESCRIBE))
    assert may_describe_everything(acl("*", operation=DESCRIBE), deny(name, operation=DESCRIBE, principal=OTHER))


def test_what_no_acl_names_is_open_where_brokers_let_everybody_in() -> None:
    assert may_describe_everything(open_to_all=True)
    assert may_describe_everything(acl("orders.*", operation=DESCRIBE), open_to_all=True)
    assert not may_describe_everything(acl("stock.*", principal=OTHER, operation=DESCRIBE), open_to_all=True)


def test_a_deny_for_one_address_stops_a_principal_only_there() -> None:
    acls = (acl("orders.*"), deny("orders.*", host="10.0.0.1"))
    assert not may_write(*acls, host="10.0.0.1")
    assert may_write(*acls, host="10.0.0.2")
    assert may_write(*acls), "it may still come from elsewhere"


def test_a_principal_allowed_from_one_address_only_is_a_writer_unless_denied_just_there() -> None:
    allowed = acl("orders.*", host="10.0.0.1")
    assert may_write(allowed)
    assert not may_write(allowed, host="10.0.0.2")
    assert not may_write(allowed, deny("orders.*", host="10.0.0.1"))


def test_a_super_user_passes_every_deny() -> None:
    authorizer = Authorizer(
        frozenset({deny("orders.*", principal="User:admin")}), super_users=frozenset({"User:admin"})
    )
    assert authorizer.allows("User:admin", WRITE, ResourceType.TOPIC, "orders.x")
    assert authorizer.writers(["orders.x"]) == {"User:admin"}


def test_without_any_acl_nothing_is_allowed_unless_the_broker_says_otherwise() -> None:
    assert not Authorizer(frozenset()).allows(APP, WRITE, ResourceType.TOPIC, "orders.x")
    assert Authorizer(frozenset(), allow_if_no_acl=True).allows(APP, WRITE, ResourceType.TOPIC, "orders.x")


def test_one_acl_about_the_topic_closes_what_the_broker_leaves_open_without() -> None:
    about = Authorizer(frozenset({acl("orders.*", principal=OTHER)}), allow_if_no_acl=True)
    assert not about.allows(APP, WRITE, ResourceType.TOPIC, "orders.x")
    assert about.allows(APP, WRITE, ResourceType.TOPIC, "billing.x")


def test_writers_are_all_who_may_write_to_at_least_one_topic() -> None:
    acls = frozenset({
        acl("orders.a"), acl("orders.*", principal="User:prefix"), acl("*", principal="User:wild", operation=ALL),
        acl("orders.a", principal="User:reader", operation=READ), acl("orders.a", principal="User:denied"),
        deny("*", principal="User:denied"), acl("billing.*", principal="User:elsewhere"),
    })  # fmt: skip
    assert Authorizer(acls).writers(["orders.a", "orders.b"]) == {APP, "User:prefix", "User:wild"}
    assert Authorizer(acls).writers([]) == set()


def test_everyone_is_a_writer_where_everyone_is_allowed_or_nothing_is_said() -> None:
    assert EVERYONE in Authorizer(frozenset({acl("orders.*", principal=EVERYONE)})).writers(["orders.a"])
    silent = Authorizer(frozenset({acl("orders.a")}), allow_if_no_acl=True)
    assert silent.writers(["orders.a"]) == {APP}
    assert EVERYONE in silent.writers(["orders.a", "orders.b"])


NAMES = st.sampled_from(["orders.a", "orders.", "orders.a.b", "o", "*", "x", "orders.ab"])
RANDOM_ACLS = st.frozensets(
    st.builds(
        Acl,
        st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
        NAMES,
        st.sampled_from(PatternType),
        st.sampled_from([APP, OTHER, EVERYONE]),
        st.sampled_from([READ, WRITE, DESCRIBE, ALL]),
        st.sampled_from(AclPermission),
        st.sampled_from(["*", "10.0.0.1"]),
    ),
    max_size=7,
)


@given(RANDOM_ACLS, st.lists(NAMES, max_size=4), st.booleans())
def test_what_is_looked_up_by_name_is_what_a_search_would_find(
    acls: frozenset[Acl], topics: list[str], open_to_all: bool
) -> None:
    authorizer = Authorizer(acls, {"User:admin"}, allow_if_no_acl=open_to_all)
    for topic in topics:
        covering = {
            acl
            for acl in acls
            if acl.resource is ResourceType.TOPIC
            and (topic.startswith(acl.name) if acl.pattern is PatternType.PREFIXED else acl.name in (topic, "*"))
        }
        found = authorizer.about(ResourceType.TOPIC, topic)
        assert (set(found), len(found)) == (covering, len(covering))
    candidates = {acl.principal for acl in acls if acl.permission is AclPermission.ALLOW} | {"User:admin"}
    writers = {p for p in candidates for t in topics if authorizer.allows(p, WRITE, ResourceType.TOPIC, t)}
    if open_to_all and any(not authorizer.about(ResourceType.TOPIC, topic) for topic in topics):
        writers.add(EVERYONE)
    assert authorizer.writers(topics) == writers


def test_what_no_acl_names_is_open_only_where_the_brokers_say_so() -> None:
    acls = frozenset({acl("orders.*")})

    assert Authorizer(acls, allow_if_no_acl=True).without_acls(["orders.a", "stray"]) == ["stray"]
    assert Authorizer(acls).without_acls(["orders.a", "stray"]) == []


def test_topics_with_the_same_acls_are_decided_once_for_each_principal(monkeypatch: pytest.MonkeyPatch) -> None:
    principals = [f"User:app-{number}" for number in range(5)]
    acls = [acl("orders.*", principal=each) for each in principals[:4]]
    authorizer = Authorizer([*acls, deny("orders.7", principal=principals[0])])
    decide, decisions = Authorizer._decide, []

    def counted(*asked: Any) -> bool:
        decisions.append(asked)
        return decide(*asked)

    monkeypatch.setattr(Authorizer, "_decide", counted)
    allowed = {
        (who, number)
        for number in range(100)
        for who in principals
        if authorizer.allows(who, WRITE, ResourceType.TOPIC, f"orders.{number}")
    }
    assert allowed == {(who, number) for who in principals[:4] for number in range(100)} - {(principals[0], 7)}
    assert len(decisions) == 2 * len(principals), "once for the prefix, once for the topic that has an ACL of its own"
