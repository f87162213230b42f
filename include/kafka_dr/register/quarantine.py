"""Stretches of a log that stay aside: records that never crossed, left in place by a failback that deletes nothing.

They are journaled by the failback as ``quarantine``, with the cluster and the ids of the topics: a topic that is
created again has none. The register's record names those of the newest failback as strings, for people and programs
that ask how a group stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.positions import TopicPartition
from kafka_dr.register.abandonment import History

#: The name of the fact.
QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, order=True)
class QuarantinedRange:
    """The offsets ``start <= offset < end`` of a partition that stay aside."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        """Whose offsets these are."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}:{self.start}-{self.end}"

    @classmethod
    def parse(cls, text: str) -> QuarantinedRange:
        """Read what ``str`` makes of one.

        :raises NeedsPerson: it is none
        """
        name, _, offsets = text.rpartition(":")
        topic, _, number = name.rpartition("-")
        start, _, end = offsets.partition("-")
        try:
            found = cls(topic, int(number), int(start), int(end))
        except ValueError as error:
            raise NeedsPerson(f"{text!r} is no quarantined range: expected topic-partition:start-end") from error
        if not topic or not 0 <= found.start <= found.end:
            raise NeedsPerson(f"{text!r} is no quarantined range: its offsets do not run upwards")
        return found


def quarantine_fact(
    cluster: str, ranges: Collection[QuarantinedRange], topic_ids: Mapping[str, str]
) -> dict[str, object]:
    """Return what a failback journals about the ranges that it leaves aside."""
    return {
        "cluster": cluster,
        "ranges": [str(each) for each in sorted(ranges)],
        "topic_ids": rows_of({each.topic: topic_ids[each.topic] for each in ranges}, **ID_OF_A_TOPIC),
    }


def quarantined(history: History, cluster: str, topic_ids: Mapping[str, str]) -> tuple[QuarantinedRange, ...]:
    """Return the ranges that stay aside on a cluster.

    :param history: everything journaled about the group, by run and fact
    :param topic_ids: of the topics as they are there now; a topic that was created again has no quarantine
    """
    found: set[QuarantinedRange] = set()
    for facts in history.values():
        kept: Any = facts.get(QUARANTINE)
        if kept is None or kept["cluster"] != cluster:
            continue
        ranges = (QuarantinedRange.parse(text) for text in kept["ranges"])
        then = by_name(kept["topic_ids"], **ID_OF_A_TOPIC)
        found |= {each for each in ranges if topic_ids.get(each.topic) == then[each.topic]}
    return tuple(sorted(found))


def by_partition(ranges: Collection[QuarantinedRange]) -> dict[TopicPartition, list[QuarantinedRange]]:
    """Sort ranges by their partition, lowest first."""
    sorted_ranges: dict[TopicPartition, list[QuarantinedRange]] = {}
    for each in sorted(ranges):
        sorted_ranges.setdefault(each.topic_partition, []).append(each)
    return sorted_ranges
