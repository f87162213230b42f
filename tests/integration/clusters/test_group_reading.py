"""Committed offsets of groups, and the topics of their live members, of both protocols, in few requests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from confluent_kafka import Consumer

from kafka_dr.clusters import KafkaCluster, NotAuthorized, TopicPartition
from kafka_dr.clusters.group_reading import LiveReading

pytestmark = pytest.mark.kafka
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


@pytest.fixture
def group() -> str:
    return f"orders-r{uuid.uuid4().hex[:8]}"


@pytest.fixture
def join(reach: Reach) -> Iterator[Callable[..., Consumer]]:
    """Return a function that starts a live member of a group and waits until it has partitions."""
    joined: list[Consumer] = []

    def member(group: str, *topics: str, protocol: str = "classic") -> Consumer:
        settings = {**reach("orders-app").settings.librdkafka(), "group.id": group, "group.protocol": protocol}
        joined.append(Consumer({**settings, "auto.offset.reset": "earliest"}))
        assigned: list[object] = []
        joined[-1].subscribe(list(topics), on_assign=lambda *_: assigned.append(True))
        for _ in range(300):
            if assigned:
                return joined[-1]
            joined[-1].poll(0.1)
        raise AssertionError(f"{group} was assigned nothing")

    yield member
    for consumer in joined:
        consumer.close()


def test_live_members_of_both_protocols_show_what_they_read(
    reach: Reach, topic: Topic, group: str, join: Callable[..., Consumer]
) -> None:
    name = topic(partitions=2)
    join(f"{group}-classic", name)
    join(f"{group}-newer", name, protocol="consumer")
    found = reach("dr-operator").group_reading.live([f"{group}-classic", f"{group}-newer", f"{group}-none"])
    assert found == {
        f"{group}-classic": LiveReading(1, frozenset({name})),
        f"{group}-newer": LiveReading(1, frozenset({name})),
        f"{group}-none": LiveReading(0, frozenset()),
    }


def test_a_rebalancing_group_is_incomplete_and_not_taken_for_one_that_reads_nothing(
    reach: Reach, topic: Topic, group: str, join: Callable[..., Consumer]
) -> None:
    name = topic(partitions=2)
    join(group, name)
    # The first member does not poll, so the second one waits for it, and the coordinator with it.
    second = Consumer({**reach("orders-app").settings.librdkafka(), "group.id": group})
    second.subscribe([name])
    try:
        reading = reach("dr-operator").group_reading
        for _ in range(100):
            second.poll(0.1)
            found = reading.live([group], seconds=0)[group]
            if isinstance(found, LiveReading) and not found.complete:
                break
        assert isinstance(found, LiveReading)
        assert (found.members, found.complete) == (2, False)
    finally:
        second.close()


def test_many_groups_are_read_in_one_request_and_a_hidden_one_is_refused_by_name(
    reach: Reach, topic: Topic, group: str
) -> None:
    name, operator = topic(partitions=2), reach("dr-operator")
    wanted = {f"{group}-{n}": {TopicPartition(name, 0): n, TopicPartition(name, 1): 0} for n in range(40)}
    operator.groups.set_offsets(wanted)
    with mock.patch.object(operator._session, "request", wraps=operator._session.request) as asked:
        found = operator.group_reading.committed([*wanted, f"{group}-none"])
    assert found == {**wanted, f"{group}-none": {}}
    assert asked.call_count == 2, "one to find the coordinator, one to ask it"

    found = reach("probe").group_reading.committed([f"{group}-1", "carts-g"])
    assert found[f"{group}-1"] == wanted[f"{group}-1"]
    assert isinstance(found["carts-g"], NotAuthorized)
    assert isinstance(reach("probe").group_reading.live(["carts-g"])["carts-g"], NotAuthorized)
