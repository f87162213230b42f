"""What becomes of records that only a lost cluster holds, topic by topic, where copies have names of their own.

Delivered, they arrive late in the copy. Otherwise the flow of their topic continues after them, their offsets are
quarantined, and they stay in files; some are published to a topic of stranded records, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kafka_dr.audit.stranded import StrandedList
from kafka_dr.failback.quarantine import ranges_of
from kafka_dr.named_rows import by_name, rows_of
from kafka_dr.positions import TopicPartition
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.port import History
from kafka_dr.register.quarantine import QuarantinedRange
from kafka_dr.topology.flow import LateChoice

#: What was chosen, for :func:`~kafka_dr.named_rows.rows_of`.
_CHOICES = {"named": "topic", "holding": "choice"}
Choices = Mapping[str, LateChoice]


@dataclass(frozen=True, slots=True)
class LateTopic:
    """The late records of one topic.

    :param written_since: how many of them have a key that was written on the active cluster since
    :param outdated: how many are older than what their copy keeps
    """

    topic: str
    choice: LateChoice
    records: int
    written_since: int
    outdated: int

    def to_json(self) -> dict[str, Any]:
        """Return it as the decision and the report show it."""
        return asdict(self)


def late_topics(found: StrandedList, choices: Choices) -> tuple[LateTopic, ...]:
    """Return what there is to decide, for each topic with late records."""
    rows = []
    for topic in topics_of(found):
        of = [each for each in found.partitions if each.topic == topic]
        records = sum(each.records for each in of)
        written, outdated = sum(each.written_since or 0 for each in of), sum(each.outdated or 0 for each in of)
        rows.append(LateTopic(topic, choices[topic], records, written, outdated))
    return tuple(rows)


def topics_of(found: StrandedList) -> list[str]:
    """Return the topics that have late records, sorted."""
    return sorted({each.topic for each in found.partitions if each.records})


def chosen(found: StrandedList, choice_of: Callable[[str], LateChoice]) -> Choices:
    """Return the choice for each topic with late records."""
    return {topic: choice_of(topic) for topic in topics_of(found)}


def unless_deleted(declared: LateChoice, found: StrandedList, topic: str) -> LateChoice:
    """Return what is declared of a topic; but nobody has said *deliver* of records that would be deleted on arrival."""
    deleted = any(each.outdated for each in found.partitions if each.topic == topic)
    return "hold" if deleted and declared == "deliver" else declared


def choices_to_json(choices: Choices) -> list[dict[str, Any]]:
    """Return choices as a claim journals them."""
    return rows_of(choices, **_CHOICES)


def choices_from_json(stored: Any) -> Choices:
    """Read what :func:`choices_to_json` returned."""
    return by_name(stored, **_CHOICES)


def of_earlier_failback(history: History, left_by: str) -> Choices | None:
    """Return what the newest failback chose that has begun to change the clusters and was abandoned.

    What it delivered cannot be taken back, and what it passed over would never be read: its choices stay. ``None`` if
    there is none.

    :param history: everything journaled about the group, by run and fact
    :param left_by: the name of the list
    """
    claims = [facts.get("claim", {}) for facts in history.values() if OLD_CLUSTER_PREPARED in facts]
    begun = [claim for claim in claims if claim.get("left_by") == left_by and "late" in claim]
    newest = max(begun, key=lambda claim: int(claim["epoch"]), default=None)
    return None if newest is None else choices_from_json(newest["late"])


def only(found: StrandedList, choices: Choices, *wanted: LateChoice) -> StrandedList:
    """Return a list with those partitions alone whose late records become one of these."""
    return replace(found, partitions=tuple(each for each in found.partitions if choices.get(each.topic) in wanted))


def passed_over(found: StrandedList, choices: Choices) -> tuple[QuarantinedRange, ...]:
    """Return what the flow passes over: from its last copied record to the end, where something is not delivered."""
    return ranges_of(only(found, choices, "stranded_topic", "hold"))


def positions_after(
    ranges: tuple[QuarantinedRange, ...], positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return where a flow continues so that it passes over ranges; empty where it already does.

    :param positions: next to copy
    """
    return {each.topic_partition: each.end for each in ranges if positions.get(each.topic_partition, 0) < each.end}
