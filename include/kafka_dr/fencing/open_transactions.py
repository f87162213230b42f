"""End the transactions that are still open after a fence.

A broker accepts the commit of an open transaction even after WRITE on the topic was denied, so DENYs on topics do not
stop transactions. Their transactional ids are denied after a grace time, and those still open then are taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OpenTransaction, TopicPartition
from kafka_dr.parallel import at_once
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until


def touching(
    cluster: KafkaCluster, topics: Collection[str], *, owns: Callable[[str], bool]
) -> tuple[OpenTransaction, ...]:
    """Return the open transactions with a partition of one of the topics, also those with undeclared ids.

    :param owns: whether a transactional id is declared. Its transaction counts even if it contains only offsets,
        which would delay reading a group's committed offset
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
    """Give applications time to end their open transactions, and return those that are still open."""
    return wait_until(
        lambda: touching(cluster, topics, owns=owns),
        lambda still_open: not still_open,
        clock=clock,
        seconds=grace_seconds,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )


@dataclass(frozen=True, slots=True)
class StableEnds:
    """How far transactions let readers of committed records read.

    :param stable: the last stable offset of each partition
    :param held_back: (last stable offset, high watermark) of the partitions with open transactions
    """

    stable: Mapping[TopicPartition, int]
    held_back: Mapping[TopicPartition, tuple[int, int]]


def wait_until_stable(
    cluster: KafkaCluster, partitions: Collection[TopicPartition], *, clock: Clock, deadline_seconds: float
) -> StableEnds:
    """Wait until the last stable offset of every partition is its high watermark, and return what was seen last."""

    def look() -> StableEnds:
        # Whichever answer comes first: a last stable offset at or above the high watermark leaves nothing open below.
        high, stable = at_once(
            lambda: cluster.topics.high_watermarks(partitions), lambda: cluster.topics.last_stable_offsets(partitions)
        )
        return StableEnds(stable, {p: (stable[p], high[p]) for p in partitions if stable[p] < high[p]})

    return wait_until(
        look,
        lambda found: not found.held_back,
        clock=clock,
        seconds=deadline_seconds,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )
