"""What a flow has copied, read from where Connect keeps it: when its source is dead, Connect itself may not answer.

An exactly-once task writes its positions in the transaction of the records, so what is committed there is the truth:
every record below it is on the target, and no record from it on. The positions are stored on the target and read there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.replication.connect_topic import ConnectTopic
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


def is_position(key: bytes) -> bool:
    """Return whether a key is of a position of any flow."""
    return decode_position(key, None) is not None


def positions_of(flow: Flow, newest: Mapping[bytes, bytes]) -> dict[TopicPartition, int]:
    """Return the positions of a flow: next to read on the source, by partition.

    :param newest: the newest value of each key, of this flow and of others
    """
    decoded = (decode_position(key, value) for key, value in newest.items() if _is_of(flow, key))
    return {found[2]: found[3] + 1 for found in decoded if found is not None and found[3] is not None}


def _is_of(flow: Flow, key: bytes) -> bool:
    # Names of flows are ASCII letters. Most keys belong to other flows, and need not be decoded.
    if flow.name.encode() not in key:
        return False
    found = decode_position(key, None)
    return found is not None and found[:2] == (flow.name, flow.source)


class CommittedPositions:
    """The positions of one flow, from the topic in which the Connect cluster of its target stores them.

    :param cluster: the flow's target, reached as somebody who may read that topic
    :param topic: the topic in which the target's Connect workers store positions
    :param stall_seconds: how long the topic may give no record while there are more of them
    """

    def __init__(self, cluster: KafkaCluster, topic: str, flow: Flow, *, stall_seconds: float) -> None:
        self._flow = flow
        self._stored = ConnectTopic(cluster, topic, keep=self._is_own, stall_seconds=stall_seconds)

    def read(self) -> Mapping[TopicPartition, int]:
        """Return the committed positions: next to read on the source, by partition.

        :raises NotFound: there is no such topic
        :raises NotAuthorized: the principal may not read it
        """
        return positions_of(self._flow, self._stored.newest())

    def _is_own(self, key: bytes) -> bool:
        return _is_of(self._flow, key)
