"""The truth about a copy: what was put in, noted when it was put in. Pure, and one line of JSON for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from kafka_dr.positions import TopicPartition


class RecordFault(StrEnum):
    """What became of records, by the words of the report."""

    SECOND_COPIES = "duplicated"
    ABORTED = "aborted"
    LOST = "lost"
    CHANGED = "corrupted"
    FOREIGN = "foreign"
    NOT_COPIED = "not_copied"


@dataclass(frozen=True, slots=True)
class FaultyRecords:
    """Some records of one partition.

    :param how: what was done to them
    :param count: how many
    :param source_offset: of the first one on the source; ``None`` if it is on the target alone, or there are many
    :param target_offset: of the first one on the target; likewise
    """

    fault: RecordFault
    how: str
    partition: TopicPartition
    count: int
    source_offset: int | None = None
    target_offset: int | None = None


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A setting of a topic that must be equal and is not.

    :param topic: by its name on the source
    """

    how: str
    topic: str
    setting: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class GroupCost:
    """What a group gets that continues on the target by what there is.

    :param how: what was done to its position; empty if nothing was
    :param again: records that it has read, or gets twice
    :param skipped: unread records that it never gets
    :param without_position: partitions in which nothing says where to begin
    """

    group: str
    again: int
    skipped: int
    without_position: int = 0
    how: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is known to be wrong with a copy; all else is well."""

    records: tuple[FaultyRecords, ...] = ()
    settings: tuple[ChangedSetting, ...] = ()
    groups: tuple[GroupCost, ...] = field(default=())

    def count(self, *faults: RecordFault) -> int:
        """Return how many records have one of these faults."""
        return sum(each.count for each in self.records if each.fault in faults)


def lines(facts: Iterable[FaultyRecords | ChangedSetting | GroupCost]) -> list[Mapping[str, Any]]:
    """Return each fact as plain JSON."""
    return [{key: value for key, value in asdict(fact).items() if value is not None} for fact in facts]
