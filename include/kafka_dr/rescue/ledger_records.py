"""Records of a ledger: a compacted topic of one partition, written in the transactions of what it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeVar

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.codec import StoredDocument
from kafka_dr.errors import NeedsPerson
from kafka_dr.json_documents import DocumentDamaged, parsed

Entry = TypeVar("Entry", bound=StoredDocument)


def encoded(entry: StoredDocument) -> bytes:
    """Return the value of an entry's record."""
    return json.dumps(entry.to_json(), separators=(",", ":")).encode()


def decoded(kind: type[Entry], value: bytes, topic: str) -> Entry:
    """Read the value of an entry's record.

    :raises NeedsPerson: it cannot be read
    """
    try:
        return parsed(value, kind.from_json)
    except DocumentDamaged as error:
        raise NeedsPerson(f"{topic} holds a record that cannot be read ({error}): {value[:80]!r}") from error


def newest(
    reader: KafkaCluster, ledger: TopicPartition, held: OffsetRange, prefix: str
) -> Iterator[tuple[TopicPartition, bytes]]:
    """Yield the newest value of each partition's entry whose key begins with ``prefix``.

    :param held: what is read of the ledger
    """
    found: dict[str, bytes] = {}
    for record in reader.log.read({ledger: held}):
        if record.key is not None and record.value is not None and (key := record.key.decode()).startswith(prefix):
            found[key.removeprefix(prefix)] = record.value
    for name, value in found.items():
        topic, _, number = name.rpartition("/")
        yield TopicPartition(topic, int(number)), value
