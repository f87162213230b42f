from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.group_offsets.other_topics import Elsewhere, read_elsewhere
from kafka_dr.positions import TopicPartition

TOPICS = st.sampled_from(["orders.a", "orders.b", "stock.a", "audit.log"])
GROUPS = st.sampled_from(["orders-x", "orders-y"])
COMMITTED = st.dictionaries(
    GROUPS, st.dictionaries(st.builds(TopicPartition, TOPICS, st.integers(0, 3)), st.integers(0, 9))
)
LIVE = st.dictionaries(GROUPS, st.frozensets(TOPICS))


def owns(topic: str) -> bool:
    return topic.startswith("orders.")


def test_committed_positions_and_live_members_are_put_together_by_group_and_topic() -> None:
    committed = {"orders-x": {TopicPartition("orders.a", 0): 1, TopicPartition("stock.a", 1): 7}}
    live = {"orders-x": {"orders.a", "stock.a"}, "orders-y": {"audit.log"}}
    assert read_elsewhere(owns, committed, live) == (
        Elsewhere("orders-x", "stock.a", {1: 7}, live=True),
        Elsewhere("orders-y", "audit.log", {}, live=True),
    )


@given(COMMITTED, LIVE)
def test_no_position_is_lost_between_what_moves_and_what_is_named(
    committed: dict[str, dict[TopicPartition, int]], live: dict[str, frozenset[str]]
) -> None:
    found = read_elsewhere(owns, committed, live)
    named = {(row.group, TopicPartition(row.topic, n)): o for row in found for n, o in row.positions.items()}
    every = {(group, p): offset for group, offsets in committed.items() for p, offset in offsets.items()}
    assert named == {place: offset for place, offset in every.items() if not owns(place[1].topic)}
    asked = {(group, topic) for group, topics in live.items() for topic in topics if not owns(topic)}
    assert {(row.group, row.topic) for row in found if row.live} == asked
    assert tuple(Elsewhere.from_json(json.loads(json.dumps(row.to_json()))) for row in found) == found
