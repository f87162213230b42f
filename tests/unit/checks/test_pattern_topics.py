from __future__ import annotations

import pytest

from kafka_dr.checks.pattern_topics import creators, in_words, judged
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.runs.known_topics import Contested
from support.pattern_group import pattern_group
from support.sentences import assert_sentence

GROUP = pattern_group(r"eu\.(a|b)", r"[a-z]+\.orders")
APP = GROUP.principals[0]


def test_the_topics_are_shown_by_pattern_and_a_contested_one_stops_a_run() -> None:
    found = judged(GROUP, ["eu.a", "us.orders"], (), ())
    assert found.outcome == "ok"
    assert found.facts["matched_topics"] == [
        {"topic": "eu.a", "pattern": r"eu\.(a|b)"},
        {"topic": "us.orders", "pattern": r"[a-z]+\.orders"},
    ]
    disputed = judged(GROUP, ["eu.a"], [Contested("eu.b", "carts")], ["User:x may create more"])
    assert disputed.outcome == "failed"
    assert_sentence(disputed.detail)


def test_each_pattern_says_what_it_matches_and_since_when_it_is_known() -> None:
    found = judged(GROUP, ["eu.a", "eu.b", "us.orders"], (), (), since={"eu.b": "2026-03-01T12:00:00+00:00"})
    assert_sentence(in_words(found))


def test_who_may_create_more_is_excused_and_named() -> None:
    found = judged(GROUP, ["eu.a"], (), [f"{APP} may create more on east (CREATE on topics eu.*)"])
    assert found.outcome == "excused"
    assert_sentence(found.detail)


def allow(name: str, pattern: PatternType, *, who: str = APP, resource: ResourceType = ResourceType.TOPIC) -> Acl:
    return Acl(resource, name, pattern, who, AclOperation.CREATE, AclPermission.ALLOW)


@pytest.mark.parametrize(
    ("acl", "how"),
    [
        (allow("eu.", PatternType.PREFIXED), "CREATE on topics eu.*"),
        (allow("e", PatternType.PREFIXED), "CREATE on topics e*"),
        (allow("*", PatternType.LITERAL), "CREATE on every topic"),
        (allow("kafka-cluster", PatternType.LITERAL, resource=ResourceType.CLUSTER), "CREATE on the cluster"),
        # A name that is looked up is fenced, and one that is not declared is not this group's.
        (allow("eu.a", PatternType.LITERAL), ""),
        (allow("eu.", PatternType.PREFIXED, who="User:somebody"), ""),
        (allow("eu.", PatternType.PREFIXED, who="User:*"), "CREATE on topics eu.*"),
    ],
)
def test_a_right_on_names_that_do_not_exist_yet_is_found(acl: Acl, how: str) -> None:
    found = dict(creators(pattern_group(r"eu\.(a|b)"), [acl]))
    assert found == ({acl.principal: how} if how else {})
