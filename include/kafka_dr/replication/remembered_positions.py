"""Positions of flows for those who ask every minute: what was read of Connect's topic is kept, once for a cluster.

Each look of the canary is a process of its own. Without this, each of them would read the whole topic, for each
protection group and minute. The file is below the evidence root, as the last looks that are made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.replication.connect_positions import is_position, positions_of
from kafka_dr.replication.connect_topic import ConnectTopic, ReadSoFar
from kafka_dr.replication.flow import Flow

#: The whole topic is read again after this time, so that nothing wrong is believed for longer, and before Kafka may
#: forget that a position was removed (``delete.retention.ms``, one day).
_BELIEVED = timedelta(hours=1)
#: So many offsets are read again rather than written to the storage.
_FEW = 2_000
_STALL_SECONDS = 5.0
_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was read of the topic in which the Connect workers of a cluster store positions.

    :param topic: its name
    :param whole_at: when the whole topic was read, aware
    """

    topic: str
    whole_at: datetime
    read: ReadSoFar


def file_of(evidence_root: Any, cluster: str) -> JsonFile[Remembered]:
    """Return where it is kept for a cluster.

    :param evidence_root: ``pathlib.Path``, or an object store's path with the same methods
    """
    path = evidence_root.joinpath("connect_positions", f"{cluster}.json")
    return JsonFile(path, _SCHEMA_VERSION, _to_json, _from_json)


def committed(
    flow: Flow, target: KafkaCluster, topic: str, *, evidence_root: Any, now: datetime
) -> Mapping[TopicPartition, int]:
    """Return the positions of a flow: next to read on the source, by partition; only what is new is read of the topic.

    :param target: the cluster that the flow writes to, reached as somebody who may read the topic
    :param topic: the one in which Connect keeps positions
    :raises NotFound: Connect keeps its positions elsewhere
    """
    file = file_of(evidence_root, flow.target)
    known = _believed(file, topic, now)
    stored = ConnectTopic(
        target, topic, keep=is_position, stall_seconds=_STALL_SECONDS, known=known.read if known else None
    )
    newest = stored.newest()
    kept = Remembered(topic, known.whole_at if known else now, stored.so_far)
    if known is None or _worth_keeping(known.read, kept.read):
        # If that fails, the next look reads more. A value of another connector may be no text.
        with suppress(OSError, KafkaDrError, UnicodeDecodeError):
            file.write(kept)
    return positions_of(flow, newest)


def _believed(file: JsonFile[Remembered], topic: str, now: datetime) -> Remembered | None:
    try:
        known = file.read()
    except (OSError, KafkaDrError, DocumentDamaged):
        return None
    if known is None or known.topic != topic or not timedelta(0) <= now - known.whole_at <= _BELIEVED:
        return None
    return known


def _worth_keeping(before: ReadSoFar, after: ReadSoFar) -> bool:
    passed = sum(end - before.next_to_read.get(partition, 0) for partition, end in after.next_to_read.items())
    return before.topic_id != after.topic_id or not 0 <= passed <= _FEW


def _to_json(kept: Remembered) -> dict[str, Any]:
    read = kept.read
    return {
        "topic": kept.topic,
        "whole_at": kept.whole_at.astimezone(UTC).isoformat(),
        "topic_id": read.topic_id,
        "next_to_read": {str(p.partition): offset for p, offset in sorted(read.next_to_read.items())},
        # A list keeps their order.
        "newest": [[key.decode(), value.decode()] for key, value in read.newest.items()],
    }


def _from_json(content: Any) -> Remembered:
    topic = str(content["topic"])
    newest = {str(key).encode(): str(value).encode() for key, value in content["newest"]}
    return Remembered(
        topic,
        datetime.fromisoformat(content["whole_at"]),
        ReadSoFar(
            str(content["topic_id"]),
            {TopicPartition(topic, int(number)): int(offset) for number, offset in content["next_to_read"].items()},
            newest,
        ),
    )
