"""Whether DENYs last: what the register remembers, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.checks.lasting_denies import has_outlived, judge, removed_twice
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.register.added_acls import AddedAcls, Lasting
from kafka_dr.topology.access_rules import AccessRulesSpec
from support.sentences import assert_sentence

NOW = datetime(2026, 11, 25, 3, tzinfo=UTC)
BROKER = AccessRulesSpec()
FILE = AccessRulesSpec(kept_by="file", path="/srv/rules/east.json", reconciles_every_seconds=300)
DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)


def ago(**amount: float) -> datetime:
    return NOW - timedelta(**amount)


@pytest.mark.parametrize(
    ("removed", "found"),
    [
        ((), False),
        ((ago(minutes=1),), False),
        ((ago(minutes=61), ago(minutes=1)), False),
        ((ago(minutes=60), ago(minutes=1)), True),
        ((ago(hours=9), ago(minutes=30), ago(minutes=2)), True),
    ],
)
def test_denies_that_are_removed_twice_within_an_hour_are_removed_by_somebody(
    removed: tuple[datetime, ...], found: bool
) -> None:
    said = removed_twice("east", BROKER, Lasting(removed=removed), NOW)
    assert bool(said) is found
    assert judge("east", BROKER, Lasting(removed=removed), NOW).outcome == ("failed" if found else "ok")


def test_what_is_to_be_done_depends_on_where_the_rules_are_said_to_be() -> None:
    removed = Lasting(removed=(ago(minutes=2), ago(minutes=1)))
    assert_sentence(removed_twice("east", BROKER, removed, NOW))
    assert_sentence(removed_twice("east", FILE, removed, NOW))


@pytest.mark.parametrize(
    ("outlived", "outcome"), [(None, "unknown"), (ago(hours=25), "unknown"), (ago(hours=24), "ok")]
)
def test_a_deny_has_to_have_outlasted_a_comparison_within_a_day(outlived: datetime | None, outcome: str) -> None:
    check = judge("east", FILE, Lasting(outlived=outlived), NOW)
    assert check.outcome == outcome
    assert_sentence(check.detail)
    assert judge("east", BROKER, Lasting(outlived=outlived), NOW).outcome == "ok"


@pytest.mark.parametrize(
    ("since", "noted", "expected"),
    [
        (None, None, False),
        (ago(seconds=299), None, False),
        (ago(seconds=300), None, True),
        (ago(hours=9), ago(hours=6), False),
        (ago(hours=9), ago(hours=7), True),
    ],
)
def test_it_is_noted_when_a_comparison_has_passed_and_not_each_minute(
    since: datetime | None, noted: datetime | None, expected: bool
) -> None:
    added = AddedAcls(frozenset({DENY}), lasting=Lasting(since=since, outlived=noted))
    assert has_outlived(added, FILE, NOW) is expected
    assert not has_outlived(added, BROKER, NOW)
    assert not has_outlived(replace(added, current=frozenset()), FILE, NOW), "nothing was there that could last"


def test_what_is_remembered_is_read_back_and_a_former_version_wrote_none_of_it() -> None:
    added = AddedAcls().adding({DENY}, epoch=3, at=ago(minutes=9))
    assert added.lasting == Lasting(since=ago(minutes=9))
    added = added.found_outlived(ago(minutes=5)).found_removed(ago(minutes=2)).found_slow(1.23456)
    assert added.lasting == Lasting(ago(minutes=9), None, (ago(minutes=2),), 1.235), "a removal ends what was seen"
    assert AddedAcls.of_value(added.value()) == added
    assert AddedAcls.of_value(b'{"fences": []}').lasting == Lasting()
    assert b"lasting" not in AddedAcls().adding({DENY}, epoch=1).value()


def test_only_the_newest_removals_are_remembered() -> None:
    added = AddedAcls(frozenset({DENY}))
    for minutes in range(20, 0, -1):
        added = added.found_removed(ago(minutes=minutes))
    assert added.lasting.removed == tuple(ago(minutes=minutes) for minutes in range(5, 0, -1))
