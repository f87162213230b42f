"""Where a consumer group begins because a person chose it: a time, an offset, the beginning or the end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from kafka_dr.errors import Refused
from kafka_dr.positions import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class ChosenStart:
    """What a person chose.

    :param value: an offset, next to read; or a time, in milliseconds since the epoch; ``None`` for the two others
    """

    kind: Literal["beginning", "end", "offset", "time"]
    value: int | None = None

    def __str__(self) -> str:
        if self.kind == "time":
            return f"the first record of {datetime.fromtimestamp((self.value or 0) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"offset {self.value}" if self.kind == "offset" else f"the {self.kind} of each log"


@dataclass(frozen=True, slots=True)
class ChosenPosition:
    """One partition: what is committed, and where the group is to begin instead. Offsets are next to read.

    :param committed: ``None``: nothing is
    :param to: the chosen one
    """

    partition: TopicPartition
    committed: int | None
    to: int
    log: OffsetRange

    @property
    def again(self) -> int:
        """How many offsets the group reads again, at most as many records; nothing is known without a commit."""
        return max(0, min(self.committed, self.log.end) - self.to) if self.committed is not None else 0

    @property
    def skipped(self) -> int:
        """How many offsets that the group has not read it then never reads, at most as many records.

        A partition without a commit counts from the start of its log: the group may have read nothing of it.
        """
        unread = max(self.log.start, self.committed or 0)
        return max(0, self.to - unread)

    @property
    def changes(self) -> bool:
        """Whether anything has to be committed."""
        return self.committed != self.to


def choose(
    chosen: ChosenStart,
    logs: Mapping[TopicPartition, OffsetRange],
    committed: Mapping[TopicPartition, int],
    *,
    at_time: Mapping[TopicPartition, int | None],
) -> tuple[ChosenPosition, ...]:
    """Return where the group is to begin in each partition.

    :param logs: the partitions that are meant, each from its first offset to the one after its last
    :param at_time: the first offset that is as young as the chosen time; ``None``: no record is, so the end counts
    :raises Refused: the chosen offset is outside a log
    """
    outside = [p for p, log in sorted(logs.items()) if not _is_inside(chosen, log)]
    if outside:
        first = outside[0]
        raise Refused(
            f"{first} has offsets {logs[first].start} to {logs[first].end}, and {chosen.value} is outside of them: "
            "choose one of these. Nothing was changed"
        )
    return tuple(
        ChosenPosition(p, committed.get(p), _wanted(chosen, log, at_time.get(p)), log)
        for p, log in sorted(logs.items())
    )


def _is_inside(chosen: ChosenStart, log: OffsetRange) -> bool:
    return chosen.kind != "offset" or log.start <= (chosen.value or 0) <= log.end


def _wanted(chosen: ChosenStart, log: OffsetRange, found: int | None) -> int:
    if chosen.kind == "offset":
        return chosen.value or 0
    if chosen.kind == "time":
        return log.end if found is None else found
    return log.start if chosen.kind == "beginning" else log.end
