"""What a failover would do to each consumer group: how sure its offset is, what it would get again, and what
MirrorMaker's own checkpoint would have done instead. Pure: facts in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.offsets.translate.answers import Translation, badness
from kafka_dr.offsets.translate.by_time import RecordTimes
from kafka_dr.offsets.translate.choice import STRATEGIES, Strategy, WithCheckpoint, start
from kafka_dr.offsets.translate.facts import PartitionFacts
from kafka_dr.positions import PartitionOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class PositionRow:
    """One group in one partition.

    :param starts: where each choice leads; the group's own is ``chosen``
    :param seconds: between the first record that comes again and the first unread one; ``None`` if that is not known
    :param mirrormaker_seconds: the same for MirrorMaker's checkpoint
    """

    group: str
    partition: TopicPartition
    source_offset: int
    chosen: Translation
    starts: tuple[Translation, ...]
    mirrormaker: int | None
    mirrormaker_again: int | None
    seconds: float | None
    mirrormaker_seconds: float | None


def position_row(
    group: str,
    at: PartitionOffset,
    found: WithCheckpoint,
    facts: PartitionFacts,
    *,
    strategy: Strategy,
    times: RecordTimes,
    otherwise: Strategy | None = None,
) -> PositionRow:
    """Return what becomes of one committed offset.

    :param otherwise: the policy if the group's own choice gives no offset; ``None`` refuses it
    """
    by_time, at_time = times.by_time.get(at), times.at_time.get(at[0])
    starts = tuple(start(each, found.translation, facts, by_time=by_time, at_time=at_time) for each in STRATEGIES)
    chosen = starts[STRATEGIES.index(strategy)]
    if chosen.target_offset is None and otherwise is not None:
        chosen = starts[STRATEGIES.index(otherwise)]
    # A second copy may be of a record of any time.
    twice = found.translation.second_copies
    return PositionRow(
        group,
        *at,
        chosen,
        starts,
        found.mirrormaker,
        found.mirrormaker_again,
        None if chosen.second_copies else _seconds(at, chosen.target_offset, chosen.redelivered_at_most, times),
        None if twice else _seconds(at, found.mirrormaker, found.mirrormaker_again, times),
    )


def _seconds(at: PartitionOffset, begin: int | None, again: int | None, times: RecordTimes) -> float | None:
    if again == 0:
        return 0.0
    if begin is None or again is None:
        return None
    unread, first = times.unread.get(at), times.copies.get((at[0], begin))
    return None if unread is None or first is None else round(max(0, unread - first) / 1000, 3)


def group_rows(rows: Sequence[PositionRow], *, strategy_of: Mapping[str, Strategy]) -> list[dict[str, Any]]:
    """Return one row for each group, as JSON: the worst of its partitions, and sums."""
    return [_group_row(group, found, strategy_of[group]) for group, found in _by_group(rows)]


def _by_group(rows: Iterable[PositionRow]) -> list[tuple[str, list[PositionRow]]]:
    by_group: dict[str, list[PositionRow]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    return sorted(by_group.items())


def _group_row(group: str, rows: Sequence[PositionRow], strategy: Strategy) -> dict[str, Any]:
    worst = max((row.chosen for row in rows), key=lambda chosen: badness(chosen.kind))
    return {
        "group": group,
        "start": strategy,
        "verdict": worst.kind,
        "partitions": len(rows),
        "redelivered_at_most": total(row.chosen.redelivered_at_most for row in rows),
        "second_copies": sum(row.chosen.second_copies for row in rows),
        "redelivered_seconds": longest(row.seconds for row in rows),
        "skipped_at_most": total(row.chosen.skipped_at_most for row in rows),
        "mm2_redelivered_at_most": total(row.mirrormaker_again for row in rows if row.mirrormaker is not None),
        "mm2_redelivered_seconds": longest(row.mirrormaker_seconds for row in rows if row.mirrormaker is not None),
        "mm2_without_checkpoint": sum(row.mirrormaker is None for row in rows),
        "reason": worst.reason if worst.kind != "exact" else "",
    }


def choice_rows(rows: Sequence[PositionRow]) -> list[dict[str, Any]]:
    """Return what each choice would cost each group, as JSON."""
    found: list[dict[str, Any]] = []
    for group, of_group in _by_group(rows):
        line: dict[str, Any] = {"group": group}
        for number, strategy in enumerate(STRATEGIES):
            starts = [row.starts[number] for row in of_group]
            if strategy == "at_time" and all(each.target_offset is None for each in starts):
                continue
            line[f"{strategy}_again"] = total(each.redelivered_at_most for each in starts)
            line[f"{strategy}_skipped"] = total(each.skipped_at_most for each in starts)
        found.append(line)
    return found


def position_rows(rows: Iterable[PositionRow]) -> list[dict[str, Any]]:
    """Return one row for each group and partition, as JSON."""
    return [
        {
            "group": row.group,
            "topic": row.partition.topic,
            "partition": row.partition.partition,
            "source_offset": row.source_offset,
            "target_offset": row.chosen.target_offset,
            "verdict": row.chosen.kind,
            "redelivered_at_most": row.chosen.redelivered_at_most,
            "second_copies": row.chosen.second_copies,
            "redelivered_seconds": row.seconds,
            "skipped_at_most": row.chosen.skipped_at_most,
            "mm2_offset": row.mirrormaker,
            "mm2_redelivered_at_most": row.mirrormaker_again,
            "mm2_redelivered_seconds": row.mirrormaker_seconds,
            "reason": row.chosen.reason,
        }
        for row in rows
    ]


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum; ``None`` if one is not known, because then the sum is not known either."""
    found = list(values)
    return None if None in found else sum(each for each in found if each is not None)


def longest(values: Iterable[float | None]) -> float | None:
    """Return the longest; ``None`` if one is not known."""
    found = list(values)
    return None if None in found else max((each for each in found if each is not None), default=0.0)
