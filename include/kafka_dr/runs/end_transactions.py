"""Ending the transactions that are open on a group's topics, so that none can be committed after a fence."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.fencing import open_transactions
from kafka_dr.runs.group_context import GroupContext


def end_transactions(
    context: GroupContext, cluster: str, still: Callable[[], None], *, all_of_them: bool
) -> tuple[str, ...]:
    """Abort what is open: its commit would be accepted by a broker that denies the topic.

    :param all_of_them: also those of ids that nobody declared, where no replication may write
    """
    reached, owns = context.operator(cluster), context.group.owns_transactional_id
    topics = {partition.topic for partition in context.partitions(cluster)}
    found = open_transactions.touching(reached, topics, owns=owns)
    ids = tuple(each.transactional_id for each in found if all_of_them or owns(each.transactional_id))
    if ids:
        still()
        reached.transactions.take_over(ids)
    return ids
