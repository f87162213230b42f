"""What topic ids say of a flow: from when on a topic is known, when it is another one, and when that is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka_dr.checks.topic_identity import TopicIds, judged
from kafka_dr.register.flow_seed import FlowSeed
from support.sentences import assert_sentence

CONNECTOR = "the connector dr.g.east-to-west"
AT, LATER = datetime(2026, 11, 27, 1, 2, 3, tzinfo=UTC), datetime(2026, 11, 27, 2, tzinfo=UTC)
SEED = FlowSeed(5, "east", "west", {}, topic_ids={"orders": "e1"})
COPIED = {"orders", "refunds"}
BOTH = {"east": {"orders": "e1"}, "west": {"orders": "w1"}}


def known_after(*looks: dict[str, dict[str, str]], seed: FlowSeed = SEED) -> TopicIds:
    known = TopicIds.of(seed, None)
    for number, now in enumerate(looks):
        known = TopicIds.of(seed, known.learning(now, copied=COPIED, at=LATER if number > 1 else AT).fact())
    return known


def test_a_topic_of_the_standby_that_was_made_again_is_named_with_what_that_means_and_what_to_do() -> None:
    now = {**BOTH, "west": {"orders": "w2"}}
    said = judged(CONNECTOR, known_after(BOTH), SEED, now)
    assert said.outcome == "failed"
    assert_sentence(said.detail)
    assert "delete the connector dr.g.east-to-west and the group's topics on west" in said.detail
    later = judged(CONNECTOR, known_after(BOTH, now, now), SEED, now)
    assert_sentence(later.detail)


def test_a_topic_of_the_source_that_was_made_again_is_known_by_the_seed_before_anybody_looked() -> None:
    now = {**BOTH, "east": {"orders": "e2"}}
    said = judged(CONNECTOR, known_after(), SEED, now)
    assert said.outcome == "failed"
    assert_sentence(said.detail)
    assert judged(CONNECTOR, known_after(now), SEED, now).outcome == "failed", "a look makes it no better"


def test_a_topic_that_is_new_is_no_other_one() -> None:
    more = {cluster: {**topics, "refunds": f"{cluster}-r"} for cluster, topics in BOTH.items()}
    assert judged(CONNECTOR, known_after(BOTH), SEED, more).outcome == "ok"
    assert judged(CONNECTOR, known_after(BOTH, more), SEED, {**more, "west": {"refunds": "other"}}).outcome == "failed"


def test_a_topic_that_the_flow_has_not_copied_may_be_deleted_and_created_again() -> None:
    filled = {**BOTH, "west": {**BOTH["west"], "filled": "by something else"}}
    known = known_after(BOTH, filled)
    assert known.unknown(filled) == {"filled"}
    assert known.unknown(BOTH) == set()
    now = {cluster: {**topics, "filled": f"{cluster}-f"} for cluster, topics in BOTH.items()}
    assert judged(CONNECTOR, known, SEED, now).outcome == "ok"


def test_a_flow_that_was_seeded_again_knows_nothing_of_an_earlier_one() -> None:
    now = {"east": {"orders": "e2"}, "west": {"orders": "w2"}}
    again = FlowSeed(6, "east", "west", {}, topic_ids={"orders": "e2"})
    known = TopicIds.of(again, known_after(BOTH, now).fact())
    assert judged(CONNECTOR, known, again, now).outcome == "ok"
