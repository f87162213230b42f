"""Quarantined ranges of a log: records that were never replicated, kept by a failback that deletes nothing.

The failback journals them as ``quarantine``, with the cluster and the ids of the topics: a topic that is created again
has no quarantine. The register's record lists those of the newest failback as strings, for people and programs that
read the state of a group.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.positions import TopicPartition
from kafka_dr.register.port import History

#: The name of the fact.
QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, order=True)
class QuarantinedRange:
    """The offsets ``start <= offset < end`` of a partition that are quarantined."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the offsets belong to."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}:{self.start}-{self.end}"

    @classmethod
    def parse(cls, text: str) -> QuarantinedRange:
        """Read the text that ``str`` returns.

        :raises NeedsPerson: the text is not such a range
        """
        name, _, offsets = text.rpartition(":")
        topic, _, number = name.rpartition("-")
        start, _, end = offsets.partition("-")
        try:
            found = cls(topic, int(number), int(start), int(end))
        except ValueError as error:
            raise NeedsPerson(f"{text!r} is not a quarantined range: expected topic-partition:start-end") from error
        if not topic or not 0 <= found.start <= found.end:
            raise NeedsPerson(f"{text!r} is not a quarantined range: expected a topic and 0 <= start <= end")
        return found


def quarantine_fact(
    cluster: str, ranges: Collection[QuarantinedRange], topic_ids: Mapping[str, str]
) -> dict[str, object]:
    """Return the fact that a failback journals about the ranges that it quarantines."""
    return {
        "cluster": cluster,
        "ranges": [str(each) for each in sorted(ranges)],
        "topic_ids": rows_of({each.topic: topic_ids[each.topic] for each in ranges}, **ID_OF_A_TOPIC),
    }


def quarantined(history: History, cluster: str, topic_ids: Mapping[str, str]) -> tuple[QuarantinedRange, ...]:
    """Return the quarantined ranges on a cluster.

    :param history: everything journaled about the group, by run and fact
    :param topic_ids: the current ids of the cluster's topics; a topic that was created again has no quarantine
    """
    found: set[QuarantinedRange] = set()
    for facts in history.values():
        fact: Any = facts.get(QUARANTINE)
        if fact is None or fact["cluster"] != cluster:
            continue
        ranges = (QuarantinedRange.parse(text) for text in fact["ranges"])
        journaled_ids = by_name(fact["topic_ids"], **ID_OF_A_TOPIC)
        found |= {each for each in ranges if topic_ids.get(each.topic) == journaled_ids[each.topic]}
    return tuple(sorted(found))


def by_partition(ranges: Collection[QuarantinedRange]) -> dict[TopicPartition, list[QuarantinedRange]]:
    """Return the ranges by partition, sorted by offset."""
    sorted_ranges: dict[TopicPartition, list[QuarantinedRange]] = {}
    for each in sorted(ranges):
        sorted_ranges.setdefault(each.topic_partition, []).append(each)
    return sorted_ranges
