"""What topics are called on a cluster, where a copy has the name of its original's cluster before its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lab.invariants.model import Partition


@dataclass(frozen=True, slots=True)
class Names:
    """The rule by which copies are named.

    :param clusters: those whose names come before copies; none where a copy is called as its original
    """

    clusters: tuple[str, ...] = ()

    def on(self, cluster: str, topics: Iterable[str]) -> list[str]:
        """Return what topics, and the copies of them, are called on a cluster."""
        own = list(topics)
        return [*own, *(f"{each}.{topic}" for each in self.clusters if each != cluster for topic in own)]

    def place(self, cluster: str, topic: str, number: int) -> Partition:
        """Return which partition it is, by what its topic is called on a cluster."""
        for each in self.clusters:
            if topic.startswith(f"{each}."):
                return Partition(topic.removeprefix(f"{each}."), number, each)
        return Partition(topic, number, cluster if self.clusters else "")

    def called(self, cluster: str, partition: Partition) -> str:
        """Return what the topic of a partition is called on a cluster."""
        return partition.topic if partition.origin in ("", cluster) else f"{partition.origin}.{partition.topic}"
