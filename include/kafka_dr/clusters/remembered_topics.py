"""Topics and ends of logs at one moment: whoever looks at them several times in one piece of work asks once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from kafka_dr.clusters.model import Topic
from kafka_dr.clusters.topics import Topics
from kafka_dr.positions import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class _Remembered(Generic[K, V]):
    """The answers about keys.

    :param ask: answers about keys that nobody asked about before
    """

    def __init__(self, ask: Callable[[Iterable[K]], Mapping[K, V]]) -> None:
        self._ask = ask
        self._known: dict[K, V] = {}
        self._lock = Lock()

    def of(self, keys: Iterable[K]) -> dict[K, V]:
        wanted = list(keys)
        with self._lock:
            if unknown := [key for key in wanted if key not in self._known]:
                self._known.update(self._ask(unknown))
            return {key: self._known[key] for key in wanted}


class RememberedTopics(Topics):
    """Answers from memory what it was asked before; see :class:`~kafka_dr.clusters.topics.Topics`.

    Log starts are not remembered: retention raises them, and a record below them cannot be read.

    :param topics: asked for what is not remembered
    """

    def __init__(self, topics: Topics) -> None:
        super().__init__(topics._session)
        self._topics = topics
        self._names = _Remembered[None, frozenset[str]](lambda _: {None: topics.names()})
        self._described = _Remembered[str, Topic](topics.describe)
        self._high_watermarks = _Remembered[TopicPartition, int](topics.high_watermarks)
        self._stable = _Remembered[TopicPartition, int](topics.last_stable_offsets)

    def names(self) -> frozenset[str]:
        """Return the names of all topics that the principal may see."""
        return self._names.of([None])[None]

    def describe(self, names: Iterable[str]) -> dict[str, Topic]:
        """Describe topics by name."""
        return self._described.of(names)

    def log_starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition, now."""
        return self._topics.log_starts(partitions)

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the high watermark of each partition, as it was when this was asked first."""
        return self._high_watermarks.of(partitions)

    def last_stable_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the last stable offset of each partition, as it was when this was asked first."""
        return self._stable.of(partitions)
