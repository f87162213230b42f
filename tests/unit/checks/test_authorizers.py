"""What brokers show of their authorizers, compared with the topology; what neither of them shows is unknown."""

from __future__ import annotations

import pytest

from kafka_dr.checks.authorizers import (
    ALLOW_EVERYONE,
    AUTHORIZER,
    KAFKAS_OWN,
    SUPER_USERS,
    contradictions,
    undeclared_authorizers,
    undeclared_settings,
    wrong_authorizers,
)
from support.sentences import assert_sentence

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
def test_a_setting_that_a_broker_shows_has_to_match_the_topology(
    settings: dict[str, str | None], declared: bool | None, contradicts: bool
) -> None:
    said = list(contradictions("east", {2: settings}, declared))

    assert len(said) == contradicts
    assert_sentence(said)


def test_one_broker_that_differs_from_the_others_is_named() -> None:
    shown = {1: {ALLOW_EVERYONE: "false"}, 2: {ALLOW_EVERYONE: "true"}}

    (said,) = contradictions("east", shown, False)

    assert_sentence(said)


def test_a_setting_with_a_hidden_value_has_to_be_declared() -> None:
    kept_back = {7: {ALLOW_EVERYONE: None, SUPER_USERS: None}}

    assert list(undeclared_settings("east", kept_back, False, ADMIN)) == []
    said = list(undeclared_settings("east", kept_back, None, ()))
    assert len(said) == 2
    assert_sentence(said)
    assert list(undeclared_settings("east", {7: {}}, None, ())) == []
    assert list(undeclared_settings("east", {7: {ALLOW_EVERYONE: "false", SUPER_USERS: ""}}, None, ())) == []


@pytest.mark.parametrize("known", KAFKAS_OWN)
def test_kafkas_own_authorizers_decide_by_acls(known: str) -> None:
    shown = {1: {AUTHORIZER: KAFKAS_OWN[known]}}

    assert list(wrong_authorizers("east", shown, None)) == list(wrong_authorizers("east", shown, known)) == []
    assert list(undeclared_authorizers("east", shown, None)) == []


@pytest.mark.parametrize(
    ("found", "declared"),
    [
        ("org.example.OpaAuthorizer", None),
        # Another class with the same short name, and one that former versions of Kafka had.
        ("org.example.StandardAuthorizer", "StandardAuthorizer"),
        ("kafka.security.auth.SimpleAclAuthorizer", None),
        ("", None),
        (KAFKAS_OWN["StandardAuthorizer"], "AclAuthorizer"),
    ],
)
def test_an_unknown_authorizer_is_refused(found: str, declared: str | None) -> None:
    shown: dict[int, dict[str, str | None]] = {
        1: {AUTHORIZER: KAFKAS_OWN["StandardAuthorizer"]},
        2: {AUTHORIZER: found},
    }

    said = list(wrong_authorizers("east", shown, declared))
    assert said
    assert_sentence(said)


@pytest.mark.parametrize("settings", [{}, {AUTHORIZER: None}])
def test_an_authorizer_that_is_not_shown_has_to_be_declared(settings: dict[str, str | None]) -> None:
    assert list(wrong_authorizers("east", {7: settings}, None)) == []
    (said,) = undeclared_authorizers("east", {7: settings}, None)
    assert_sentence(said)
    assert list(undeclared_authorizers("east", {7: settings}, "AclAuthorizer")) == []
