"""What is known of topics by pattern only grows, and what was fenced counts whether or not its cluster answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.runs.known_topics import Contested, KnownTopics, SeenTopics, contested
from support.pattern_group import pattern_group

GROUP = pattern_group(r"eu\.[a-z]+")
OTHER = pattern_group(r"[a-z]+\.carts", name="carts", topics=("eu.stock",))
NAMES = some.frozensets(some.sampled_from(["eu.a", "eu.b", "eu.carts", "eu.stock", "us.a", "payments", "__eu.a"]))


def deny(name: str, pattern: PatternType = PatternType.LITERAL) -> Acl:
    return Acl(ResourceType.TOPIC, name, pattern, "User:x", AclOperation.WRITE, AclPermission.DENY)


def test_a_cluster_shows_what_exists_and_what_was_fenced() -> None:
    added = [deny("eu.gone"), deny("us.b"), deny("eu.", PatternType.PREFIXED), deny("payments")]
    seen = SeenTopics.of(GROUP, ["eu.a", "us.a", "payments", "eu.a.v2"], added)
    assert seen == SeenTopics(frozenset({"eu.a"}), frozenset({"eu.gone"}))


def test_a_topic_of_two_groups_is_left_out_unless_it_was_fenced_for_this_one() -> None:
    known = KnownTopics()
    known.learn(GROUP, [SeenTopics(frozenset({"eu.a", "eu.carts", "eu.stock"}), frozenset({"eu.stock"}))], [OTHER])
    assert known.of(GROUP).matched_topics == ("eu.a", "eu.stock")
    assert contested(["eu.a", "eu.stock", "eu.carts"], [OTHER]) == (
        Contested("eu.carts", "carts"),
        Contested("eu.stock", "carts"),
    )


def test_nothing_is_known_before_somebody_looked_and_then_it_is_known_that_there_is_none() -> None:
    known = KnownTopics()
    assert known.of(GROUP) is GROUP
    known.learn(GROUP, [], [])
    assert known.of(GROUP).matched_topics == ()


@given(some.lists(some.tuples(NAMES, NAMES), max_size=6))
def test_whatever_answers_and_whatever_does_not_the_set_never_gets_smaller(
    looks: list[tuple[frozenset[str], frozenset[str]]],
) -> None:
    known, before = KnownTopics(), frozenset[str]()
    for existing, fenced in looks:
        seen = SeenTopics.of(GROUP, existing, map(deny, fenced))
        known.learn(GROUP, [seen], [OTHER])
        now = frozenset(known.of(GROUP).matched_topics)
        assert before <= now
        assert seen.fenced <= now, "its DENYs would never be lifted"
        assert all(GROUP.owns_topic(name) for name in now)
        before = now
