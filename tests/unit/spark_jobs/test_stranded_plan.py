"""The seed of a flow on both clusters, of the logs that are still the same."""

from __future__ import annotations

from typing import Any

from jobs.stranded.plan import AbandonedGroup, newest_seed
from kafka_dr.clusters import TopicPartition
from kafka_dr.register.abandonment import Abandonment

PLACE = TopicPartition("orders.payments", 0)


def left(**seed: Any) -> AbandonedGroup:
    positions = {
        "source_positions": [[PLACE.topic, PLACE.partition, 500]],
        "target_positions": [[PLACE.topic, PLACE.partition, 480]],
    }
    home = {"epoch": 4, "source": "east", "target": "west", **positions, **seed}
    return AbandonedGroup("orders", Abandonment("disaster", 6, "east", "west", {}), {"way-home": {"flow_seed": home}})


def test_a_topic_that_was_made_again_begins_at_its_start() -> None:
    seeded = left(topic_ids=[{"topic": PLACE.topic, "topic_id": "then"}])
    assert newest_seed(seeded, {PLACE.topic: "then"}) == (4, {PLACE: (500, 480)})
    assert newest_seed(seeded, {PLACE.topic: "now"}) == (4, {})


def test_a_seed_that_names_no_ids_is_believed() -> None:
    assert newest_seed(left(), {PLACE.topic: "now"}) == (4, {PLACE: (500, 480)})
