"""Ending open transactions behind a fence.

A commit of an open transaction is accepted by a broker after its topic is denied, so denying topics is no fence
for transactions: their ids are denied after a grace time, and what is still open then is taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OpenTransaction, TopicPartition

_PAUSE_SECONDS = 0.03


def touching(
    cluster: KafkaCluster, topics: Collection[str], *, owns: Callable[[str], bool]
) -> tuple[OpenTransaction, ...]:
    """Return the open transactions that have a partition of one of the topics, whoever declared their ids.

    :param owns: whether a transactional id is declared: then it counts also while it carries nothing but offsets,
        which would hold back the reading of a group's position
    """
    return tuple(
        transaction
        for transaction in cluster.transactions.open()
        if owns(transaction.transactional_id) or any(p.topic in topics for p in transaction.partitions)
    )


def wait_until_ended(
    cluster: KafkaCluster,
    topics: Collection[str],
    *,
    owns: Callable[[str], bool],
    clock: Clock,
    grace_seconds: float,
) -> tuple[OpenTransaction, ...]:
    """Give the owners of open transactions time to end them, and return those that did not."""
    deadline = clock.monotonic() + grace_seconds
    while (left := touching(cluster, topics, owns=owns)) and clock.monotonic() < deadline:
        clock.sleep(_PAUSE_SECONDS)
    return left


def wait_until_stable(
    cluster: KafkaCluster, partitions: Collection[TopicPartition], *, clock: Clock, deadline_seconds: float
) -> dict[TopicPartition, tuple[int, int]]:
    """Wait until the LSO is the high watermark everywhere.

    :returns: (LSO, high watermark) of the partitions where it is not; empty when all is well
    """
    deadline = clock.monotonic() + deadline_seconds
    while True:
        high = cluster.topics.high_watermarks(partitions)
        stable = cluster.topics.last_stable_offsets(partitions)
        held = {p: (stable[p], high[p]) for p in partitions if stable[p] < high[p]}
        if not held or clock.monotonic() > deadline:
            return held
        clock.sleep(_PAUSE_SECONDS)
