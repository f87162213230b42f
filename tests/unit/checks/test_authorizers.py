"""What brokers tell of their authorizers beside what the topology says; what neither tells is not known."""

from __future__ import annotations

import pytest

from kafka_dr.checks.authorizers import (
    ALLOW_EVERYONE,
    AUTHORIZER,
    KAFKAS_OWN,
    SUPER_USERS,
    contradictions,
    nameless,
    strangers,
    unsaid,
)

ADMIN = ("User:admin",)


@pytest.mark.parametrize(
    ("settings", "declared", "contradicts"),
    [
        ({}, None, False),
        ({}, False, False),
        ({}, True, True),
        ({ALLOW_EVERYONE: None}, True, False),
        ({ALLOW_EVERYONE: None}, None, False),
        ({ALLOW_EVERYONE: "True"}, True, False),
        ({ALLOW_EVERYONE: "true"}, False, True),
        ({ALLOW_EVERYONE: "true"}, None, True),
        ({ALLOW_EVERYONE: "false"}, None, False),
    ],
)
def test_a_setting_that_a_broker_tells_holds_the_topology_to_it(
    settings: dict[str, str | None], declared: bool | None, contradicts: bool
) -> None:
    said = list(contradictions("east", {2: settings}, declared))

    assert len(said) == contradicts
    assert all("on broker 2 of east" in each and "make the two the same" in each for each in said)


def test_one_broker_that_differs_from_the_others_is_named() -> None:
    told = {1: {ALLOW_EVERYONE: "false"}, 2: {ALLOW_EVERYONE: "true"}}

    (said,) = contradictions("east", told, False)

    assert said.startswith("allow.everyone.if.no.acl.found is true on broker 2 of east")


def test_what_is_set_and_kept_back_has_to_stand_in_the_topology() -> None:
    kept_back = {7: {ALLOW_EVERYONE: None, SUPER_USERS: None}}

    assert list(unsaid("east", kept_back, False, ADMIN)) == []
    assert ["broker 7 of east sets" in each for each in unsaid("east", kept_back, None, ())] == [True, True]
    assert list(unsaid("east", {7: {}}, None, ())) == []
    assert list(unsaid("east", {7: {ALLOW_EVERYONE: "false", SUPER_USERS: ""}}, None, ())) == []


@pytest.mark.parametrize("known", KAFKAS_OWN)
def test_kafkas_own_authorizers_decide_by_acls(known: str) -> None:
    told = {1: {AUTHORIZER: KAFKAS_OWN[known]}}

    assert list(strangers("east", told, None)) == list(strangers("east", told, known)) == []
    assert list(nameless("east", told, None)) == []


@pytest.mark.parametrize(
    ("shown", "declared", "sentence"),
    [
        ("org.example.OpaAuthorizer", None, "authorizer.class.name is org.example.OpaAuthorizer on broker 2 of east"),
        # Whatever calls itself so, or was Kafka's own once.
        ("org.example.StandardAuthorizer", "StandardAuthorizer", "is org.example.StandardAuthorizer on broker 2"),
        ("kafka.security.auth.SimpleAclAuthorizer", None, "only StandardAuthorizer and AclAuthorizer are known"),
        ("", None, "authorizer.class.name is not set on broker 2 of east"),
        (
            KAFKAS_OWN["StandardAuthorizer"],
            "AclAuthorizer",
            "the topology says authorizer: AclAuthorizer: make the two",
        ),
    ],
)
def test_an_authorizer_that_nobody_can_answer_for_is_refused(shown: str, declared: str | None, sentence: str) -> None:
    told: dict[int, dict[str, str | None]] = {1: {AUTHORIZER: KAFKAS_OWN["StandardAuthorizer"]}, 2: {AUTHORIZER: shown}}

    assert any(sentence in said for said in strangers("east", told, declared))


@pytest.mark.parametrize("settings", [{}, {AUTHORIZER: None}])
def test_an_authorizer_that_is_not_shown_has_to_be_declared(settings: dict[str, str | None]) -> None:
    assert list(strangers("east", {7: settings}, None)) == []
    (said,) = nameless("east", {7: settings}, None)
    assert said.startswith("broker 7 of east does not show authorizer.class.name")
    assert list(nameless("east", {7: settings}, "AclAuthorizer")) == []
