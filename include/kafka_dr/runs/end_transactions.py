"""Ending the transactions that are open on a group's topics, so that none can be committed after a fence."""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters import TopicPartition
from kafka_dr.fencing import open_transactions
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import RegisterGuard


def end_transactions(
    context: GroupContext,
    cluster: str,
    guard: RegisterGuard,
    *,
    all_of_them: bool,
    partitions: Collection[TopicPartition] = (),
) -> tuple[str, ...]:
    """Abort what is open: its commit would be accepted by a broker that denies the topic.

    :param guard: asked right before they are aborted
    :param all_of_them: also those of ids that nobody declared, where no replication may write
    :param partitions: of the cluster; those of the group's topics where none are given
    """
    reached, owns = context.operator(cluster), context.group.owns_transactional_id
    topics = {partition.topic for partition in partitions or context.partitions(cluster)}
    found = open_transactions.touching(reached, topics, owns=owns)
    ids = tuple(each.transactional_id for each in found if all_of_them or owns(each.transactional_id))
    if ids:
        guard.require()
        reached.transactions.take_over(ids)
    return ids
