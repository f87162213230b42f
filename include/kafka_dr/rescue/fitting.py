"""Sizes: a broker refuses a batch that is larger than its topic allows, and with it the whole transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_dr.rescue.kept import KeptRecord

#: Kafka's default for ``max.message.bytes``.
USUAL_LIMIT = 1_048_588
#: How many bytes a record may grow: the headers that name its origin, and the batch around it.
ROOM = 64 * 1024
_BATCH, _RECORD, _HEADER = 61, 32, 10
#: SizeLimits of one transaction, so that it ends long before its timeout.
_MOST_RECORDS, _MOST_BYTES = 500, 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """What each topic of the active cluster allows, in bytes of a batch."""

    by_topic: Mapping[str, int]

    @classmethod
    def of(cls, configs: Mapping[str, Mapping[str, str]]) -> SizeLimits:
        """Read them from effective configurations."""
        return cls({name: int(config.get("max.message.bytes", USUAL_LIMIT)) for name, config in configs.items()})

    def takes(self, topic: str, size: int) -> bool:
        """Return whether a topic takes a record of this size."""
        return size <= self.by_topic.get(topic, USUAL_LIMIT)

    @property
    def largest(self) -> int:
        """The largest record that any of them takes."""
        return max(self.by_topic.values(), default=USUAL_LIMIT)

    @property
    def smallest(self) -> int:
        """The largest batch that all of them take."""
        return min(self.by_topic.values(), default=USUAL_LIMIT)


def size_of(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> int:
    """Return the most bytes that a record needs alone in its batch, uncompressed."""
    named = sum(len(name.encode()) + len(content or b"") + _HEADER for name, content in headers)
    return _BATCH + _RECORD + len(key or b"") + len(value or b"") + named


def in_transactions(records: Iterable[KeptRecord]) -> Iterator[Sequence[KeptRecord]]:
    """Split records into transactions."""
    batch: list[KeptRecord] = []
    size = 0
    for record in records:
        own = size_of(record.key, record.value, record.headers)
        if batch and (len(batch) == _MOST_RECORDS or size + own > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += own
    if batch:
        yield batch
