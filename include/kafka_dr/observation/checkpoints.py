"""MirrorMaker's checkpoints, as they are on the target: where each group would resume. Pure.

The key is group, topic and partition, without a version; the value begins with one. All numbers are big-endian, and a
text is its length in two bytes and UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafka_dr.causes import cause
from kafka_dr.clusters import Record
from kafka_dr.naming import Naming
from kafka_dr.positions import CommittedOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The newest checkpoint of each group in each partition.

    :param positions: by group and partition of the source: next to read on the target
    :param unreadable: how many records are not checkpoints, or of another version
    :param problem: why they could not be read; empty if they were
    """

    positions: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    unreadable: int = 0
    problem: str = ""


class NotACheckpoint(ValueError):
    """A record is no checkpoint, or one of another version."""


def newest(records: Iterable[Record], naming: Naming) -> Checkpoints:
    """Return the newest checkpoints; a record without a value takes an older one back.

    :param records: in their order
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    unreadable = 0
    for record in records:
        try:
            group, copy = decode_key(record.key)
            offset = None if record.value is None else decode_value(record.value)
        except NotACheckpoint:
            unreadable += 1
            continue
        topic = naming.original_of(copy.topic)
        if topic is None:
            continue
        partition = TopicPartition(topic, copy.partition)
        if offset is None:
            found.get(group, {}).pop(partition, None)
        else:
            found.setdefault(group, {})[partition] = offset
    return Checkpoints(found, unreadable)


def decode_key(key: bytes | None) -> tuple[str, TopicPartition]:
    """Return the group, and the partition of the target.

    :raises NotACheckpoint: it is none
    """
    try:
        group, rest = _text(key or b"")
        topic, rest = _text(rest)
        (partition,) = struct.unpack(">i", rest)
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise NotACheckpoint(cause(error)) from error
    return group, TopicPartition(topic, partition)


def decode_value(value: bytes) -> int:
    """Return the offset on the target, next to read, with the commit metadata of the source.

    :raises NotACheckpoint: it is none, or of a version that is not known
    """
    try:
        version, _, downstream = struct.unpack(">hqq", value[:18])
        metadata, rest = _text(value[18:])
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise NotACheckpoint(cause(error)) from error
    if version != 0 or rest:
        raise NotACheckpoint(f"version {version} is not known")
    return CommittedOffset(int(downstream), metadata) if metadata else int(downstream)


def _text(data: bytes) -> tuple[str, bytes]:
    (length,) = struct.unpack(">h", data[:2])
    if length < 0 or len(data) < 2 + length:
        raise ValueError("a text ends early")
    return data[2 : 2 + length].decode(), data[2 + length :]
