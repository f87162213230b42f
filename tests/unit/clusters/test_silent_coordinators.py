"""A coordinator that does not answer: the groups of the other coordinators still get their answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest
from confluent_kafka import KafkaError

from kafka_dr.clusters import ClientSettings, ClusterUnreachable
from kafka_dr.clusters.group_reading import GroupReading
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition


@pytest.mark.parametrize("nobody", [False, True], ids=["one of two", "none knows the coordinators"])
def test_a_group_without_an_answer_gets_an_error(nobody: bool) -> None:
    def request(wanted: Any, doing: str, *, broker: int | None = None) -> Any:
        if broker == 1 or (nobody and broker is None):
            raise ClusterUnreachable(f"could not {doing}")
        if broker is None:
            rows = [("orders-a", 1), ("orders-b", 2)]
            return SimpleNamespace(
                coordinators=[
                    SimpleNamespace(key=key, node_id=node, error_code=0, error_message=None) for key, node in rows
                ]
            )
        partition = SimpleNamespace(partition_index=0, committed_offset=7, metadata="", error_code=0)
        topic = SimpleNamespace(name="orders.x", partitions=[partition])
        groups = [SimpleNamespace(group_id=each.group_id, error_code=0, topics=[topic]) for each in wanted.groups]
        return SimpleNamespace(groups=groups)

    session = SimpleNamespace(
        label="east as operator", request_seconds=0.0, request=request, error=lambda code, *_: None
    )
    found = GroupReading(cast("ClusterSession", session)).committed(["orders-a", "orders-b"])
    assert isinstance(found["orders-a"], ClusterUnreachable)
    assert isinstance(found["orders-b"], ClusterUnreachable) if nobody else list(found["orders-b"].values()) == [7]  # type: ignore[union-attr]


def test_a_group_whose_coordinator_has_moved_is_asked_for_again_and_its_offsets_are_read() -> None:
    """The answer is NOT_COORDINATOR: librdkafka's admin client ends the process then, so it is not asked."""
    asked: list[int] = []

    def request(wanted: Any, doing: str, *, broker: int | None = None) -> Any:
        if broker is None:
            row = SimpleNamespace(key="orders-a", node_id=len(asked) + 1, error_code=0, error_message=None)
            return SimpleNamespace(coordinators=[row])
        asked.append(broker)
        partition = SimpleNamespace(partition_index=0, committed_offset=7, metadata="", error_code=0)
        topics = [SimpleNamespace(name="orders.x", partitions=[partition])] if broker == 2 else []
        moved = 0 if broker == 2 else KafkaError.NOT_COORDINATOR
        return SimpleNamespace(groups=[SimpleNamespace(group_id="orders-a", error_code=moved, topics=topics)])

    session = ClusterSession("east", ClientSettings("127.0.0.1:1"))
    with mock.patch.object(session, "request", request):
        assert Groups(session).offsets(["orders-a"]) == {"orders-a": {TopicPartition("orders.x", 0): 7}}
    assert asked == [1, 2]
    assert session._admin is None
