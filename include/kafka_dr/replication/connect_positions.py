"""What a flow has copied, read from where Connect keeps it: when its source is dead, Connect itself may not answer.

An exactly-once task writes its positions in the transaction of the records, so what is committed there is the truth:
every record below it is on the target, and no record from it on. The positions are stored on the target and read there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.replication.flow import Flow


def decode_position(key: bytes | None, value: bytes | None) -> tuple[str, str, TopicPartition, int | None] | None:
    """Decode one of Connect's positions, as ``MirrorSourceConnector`` keeps them.

    :returns: connector, source, partition, and the offset *of* the last record copied, ``None`` where it was removed;
        nothing for what another kind of connector keeps
    """
    try:
        connector, place = json.loads(key or b"")
        partition = TopicPartition(str(place["topic"]), int(place["partition"]))
        offset = None if value is None else json.loads(value)["offset"]
        return str(connector), str(place["cluster"]), partition, None if offset is None else int(offset)
    except (ValueError, KeyError, TypeError):
        return None


def committed_positions(
    cluster: KafkaCluster, topic: str, flow: Flow, *, stall_seconds: float
) -> Mapping[TopicPartition, int]:
    """Return the positions of a flow: next to read on its source, by partition.

    :param cluster: the flow's target, reached as somebody who may read that topic
    :param topic: the topic in which the target's Connect workers store positions
    :raises NotFound: there is no such topic
    """
    partitions = cluster.topics.describe([topic])[topic].partitions
    starts, ends = cluster.topics.log_starts(partitions), cluster.topics.last_stable_offsets(partitions)
    found: dict[TopicPartition, int] = {}
    ranges = {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in partitions}
    for record in cluster.log.read(ranges, stall_seconds=stall_seconds):
        position = decode_position(record.key, record.value)
        if position is None or position[:2] != (flow.connector, flow.source):
            continue
        _, _, partition, offset = position
        if offset is None:
            found.pop(partition, None)
        else:
            found[partition] = offset + 1
    return found
