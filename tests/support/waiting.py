"""A broker that hung is forgotten by its controller and found again; what follows a test waits until that is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka.protocol.metadata import MetadataRequest

from kafka_dr.clusters import KafkaCluster
from kafka_dr.errors import TryAgain

#: The controller notices that it has not heard of a broker only some time after both woke up.
_CALM_SECONDS = 3.0


def settled(cluster: KafkaCluster, brokers: tuple[int, ...], *, seconds: float = 40.0) -> None:
    """Wait until a cluster has counted exactly these brokers among the living for a few seconds in a row.

    :raises AssertionError: it did not come to rest in time
    """
    deadline = time.monotonic() + seconds
    calm_since = time.monotonic()
    while time.monotonic() - calm_since < _CALM_SECONDS:
        if not _all_there(cluster, brokers):
            calm_since = time.monotonic()
        assert time.monotonic() < deadline, f"{cluster.name} does not count the brokers {brokers} in time"
        time.sleep(0.1)


def _all_there(cluster: KafkaCluster, brokers: tuple[int, ...]) -> bool:
    try:
        return cluster.topics.identity().brokers == brokers
    except TryAgain:
        return False


def known_to_all(cluster: KafkaCluster, topic: str) -> None:
    """Wait until every broker has heard of a topic: a client asks whichever it likes.

    :raises AssertionError: one of them has not in time
    """
    wanted = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
        allow_auto_topic_creation=False,
        min_version=4,
        max_version=12,
    )

    def known(broker: int) -> bool:
        answer = cluster._session.request(wanted, "look up a topic", broker=broker)
        return not answer.topics[0].error_code

    for broker in cluster.topics.identity().brokers:
        eventually(lambda broker=broker: known(broker))  # type: ignore[misc]


def eventually(holds: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Ask until it holds: brokers need a moment to act on ACLs that they have acknowledged.

    :raises AssertionError: it did not in time
    """
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {seconds:g} s"
        time.sleep(0.05)
