from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from kafka_dr.clusters import ClientSettings, KafkaCluster
from lab.api import Lab
from support.waiting import eventually

Reach = Callable[..., KafkaCluster]


@pytest.fixture
def reach(lab: Lab) -> Iterator[Reach]:
    """Return a function that connects to the lab's cluster east as a principal; closed after the test."""
    reached: list[KafkaCluster] = []

    def as_principal(principal: str, *, request_seconds: float = 10.0) -> KafkaCluster:
        settings = ClientSettings.from_librdkafka(lab.client_settings("east", principal))
        reached.append(KafkaCluster("east", settings, request_seconds=request_seconds))
        return reached[-1]

    yield as_principal
    for cluster in reached:
        cluster.close()


@pytest.fixture
def admin(reach: Reach) -> KafkaCluster:
    return reach("admin")


@pytest.fixture
def topic(admin: KafkaCluster) -> Callable[..., str]:
    """Return a function that creates a topic on which the lab's principals have rights."""

    def create(*, partitions: int = 1, **config: str) -> str:
        name = f"orders.t{uuid.uuid4().hex[:8]}"
        dotted = {key.replace("_", "."): value for key, value in config.items()}
        admin.topics.create(name, partitions=partitions, replication_factor=1, config=dotted)
        # The controller has created it; a busy broker may learn that only now.
        eventually(lambda: name in admin.topics.names())
        return name

    return create
