from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption import canary_topic
from kafka_dr.adoption.canary_topic import CanaryTopic

NAME = "orders.dr-canary"


class HeldTopics:
    """A cluster's topics; creating one says what was asked for."""

    def __init__(self, *names: str) -> None:
        self.held = set(names)
        self.asked: list[tuple[str, int, int, dict[str, str]]] = []

    def names(self) -> set[str]:
        return self.held

    def create(self, name: str, *, partitions: int, replication_factor: int, config: dict[str, str]) -> bool:
        self.asked.append((name, partitions, replication_factor, config))
        created = name not in self.held
        self.held.add(name)
        return created


def context(east: HeldTopics, west: HeldTopics) -> Any:
    topics = {"east": SimpleNamespace(topics=east), "west": SimpleNamespace(topics=west)}
    group = SimpleNamespace(canary_topic=NAME, flow=SimpleNamespace(tasks_max=4))
    return SimpleNamespace(group=group, operator=topics.__getitem__)


@pytest.mark.parametrize(
    ("east", "west", "lacking"),
    [
        (HeldTopics(), HeldTopics(), ("east", "west")),
        (HeldTopics(), HeldTopics(NAME), ("east",)),
        # Replication creates the copy of a topic that the active cluster has.
        (HeldTopics(NAME), HeldTopics(), None),
        (HeldTopics(NAME), HeldTopics(NAME), None),
    ],
)
def test_only_a_topic_that_the_active_cluster_lacks_is_missing(
    east: HeldTopics, west: HeldTopics, lacking: tuple[str, ...] | None
) -> None:
    found = canary_topic.missing(context(east, west), active="east", standbys=["west"])
    assert (found.clusters if found else None) == lacking


def test_it_is_refused_until_a_person_says_yes_and_the_sentence_says_how() -> None:
    wanted = CanaryTopic(NAME, ("east", "west"), 4)
    refused = canary_topic.judged(wanted, name=NAME, create=False)
    assert refused.outcome == "failed"
    for said in (f"{NAME} on east and west, with 4 partitions", "create_canary_topic", "--create-canary-topic"):
        assert said in refused.detail
    assert canary_topic.judged(wanted, name=NAME, create=True).outcome == "ok"
    assert canary_topic.judged(None, name=NAME, create=False).outcome == "ok"


def test_it_is_created_where_it_is_missing_with_the_brokers_own_replicas_and_a_day_of_retention() -> None:
    east, west = HeldTopics(), HeldTopics()
    world = context(east, west)
    wanted = canary_topic.missing(world, active="east", standbys=["west"])
    assert wanted is not None
    assert canary_topic.create(world, wanted) == ("east", "west")
    config = {"cleanup.policy": "delete", "retention.ms": "86400000"}
    assert east.asked == west.asked == [(NAME, 4, -1, config)]
    assert canary_topic.create(world, wanted) == (), "a second attempt finds it"
