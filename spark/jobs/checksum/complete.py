"""Up to when a topic is complete on the target. Pure.

An audit knows where the source ended when it asked, and of each partition how far the copy is equal. While a source is
written to, its newest records are always on their way. So the ends that one audit has seen are remembered, and as soon
as an audit has verified everything below them, the topic is complete up to the time of the first one: by the clock of
whoever audits, whatever times records have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from jobs.checksum.report import PartitionReport
from jobs.checksum.state import AwaitedEnds
from kafka_dr.clusters import TopicPartition

_Times = Mapping[str, datetime]
_Awaited = Mapping[str, AwaitedEnds]


def complete_up_to(
    before: tuple[_Times, _Awaited],
    partitions: Iterable[PartitionReport],
    hidden: Mapping[TopicPartition, int],
    at: datetime,
) -> tuple[dict[str, datetime], dict[str, AwaitedEnds]]:
    """Return up to when each topic is complete, and what is waited for.

    :param before: the same, after the audit before
    :param partitions: what this audit has found
    :param hidden: how many offsets of the source an open transaction hides: what is acknowledged there counts
    :param at: when this audit read the source's ends, aware
    """
    complete, awaited = dict(before[0]), dict(before[1])
    topics: dict[str, list[PartitionReport]] = {}
    for each in partitions:
        topics.setdefault(each.partition.topic, []).append(each)
    for topic, found in topics.items():
        reached = {each.partition: each.frontier[0] for each in found}
        ends = {each.partition: each.end + hidden.get(each.partition, 0) for each in found}
        mark = awaited.pop(topic, None)
        if _are_reached(ends, reached):
            complete[topic] = at
            continue
        if mark is not None and _are_reached(mark.ends, reached):
            complete[topic], mark = mark.at, None
        awaited[topic] = mark or AwaitedEnds(at, ends)
    return complete, awaited


def _are_reached(ends: Mapping[TopicPartition, int], reached: Mapping[TopicPartition, int]) -> bool:
    return all(reached.get(partition, 0) >= end for partition, end in ends.items())
