"""Where a group's committed offset is on the target, and what another position there would cost it. Pure.

A reader that needs more than a moved offset is never good by its offset alone, and is listed if it has none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.positions import Committed, TopicPartition, metadata_of
from kafka_dr.readers.commit_metadata import depends_on_what_follows
from kafka_dr.readers.covered import CoveredReader

#: What a failover would use: what the group has committed on the target, or else MirrorMaker's checkpoint. ``unknown``:
#: neither was seen, and not everything could be read. ``any``: the target never held a record, and
#: every start is the same.
Used = Literal["committed", "checkpoint", "nothing", "unknown", "any"]


@dataclass(frozen=True, slots=True)
class PositionCost:
    """What a position on the target does to a group; ``None`` if that is not known.

    :param again: records that are delivered although the group has read them, or for a second time
    :param skipped: unread records that the target has, or had, and that are not delivered
    """

    again: int | None
    skipped: int | None


#: Of what a group has committed next to its offset: ``wrong`` also if it is missing on the target.
Metadata = Literal["none", "right", "wrong"]
UNKNOWN_COST = PositionCost(None, None)
#: What a group that is its offsets alone is called in a table of all kinds.
PLAIN = "consumer group"
_ORDER = ("ok", "warning", "unknown", "failed")


@dataclass(frozen=True)
class CopiedPartition:
    """Where the copies of the records of a partition are."""

    compared: PartitionComparison

    @cached_property
    def _by_source(self) -> Sequence[int]:
        return sorted(self.compared.copies)

    @cached_property
    def _by_target(self) -> Sequence[tuple[int, int]]:
        """Offset on the target, and of the original."""
        return sorted((copy, source) for source, copies in self.compared.copies.items() for copy in copies)

    def exact(self, position: int) -> int | None:
        """Return where nothing is skipped and the least is delivered again; ``None`` if that was not read.

        :param position: next to read on the source
        """
        if not self._was_read(position):
            return None
        unread = self._unread(position)
        if unread:
            return min(self.compared.copies[source][0] for source in unread)
        return self._by_target[-1][0] + 1 if self._by_target else self.compared.target.read.end

    def cost(self, position: int, begin: int) -> PositionCost:
        """Return what it does to a group to begin somewhere on the target.

        :param position: next to read on the source
        :param begin: next to read on the target
        """
        if not self._was_read(position):
            return UNKNOWN_COST
        unread = self._unread(position)
        delivered = self._by_target[bisect_left(self._by_target, (begin, -1)) :]
        new = {source for _, source in delivered if source >= position}
        gone = len(self.compared.gone) - bisect_left(self.compared.gone, position)
        reached = self.compared.target.whole or begin >= self.compared.target.read.start
        return PositionCost(len(delivered) - len(new) if reached else None, len(unread) - len(new) + gone)

    def has_same_distances(self, position: int) -> bool:
        """Return whether the records from a position on are as far from it on both clusters.

        :param position: next to read on the source
        """
        unread, begin = self._unread(position), self.exact(position)
        return begin is not None and all(
            self.compared.copies[source] and self.compared.copies[source][0] - begin == source - position == number
            for number, source in enumerate(unread)
        )

    @property
    def never_held_a_record(self) -> bool:
        """Whether every position on the target is the same."""
        return self.compared.target.held.end == 0

    def _unread(self, position: int) -> Sequence[int]:
        return self._by_source[bisect_left(self._by_source, position) :]

    def _was_read(self, position: int) -> bool:
        source = self.compared.source
        return source.whole or position >= source.read.start


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """One group in one partition.

    :param source_offset: next to read on the source
    :param exact: next to read on the target; ``None`` if it is not known
    :param begin: where the group would begin by what there is; ``None`` if there is nothing
    :param metadata: whether what it commits next to its offset is right on the target
    """

    group: str
    partition: TopicPartition
    source_offset: int
    exact: int | None
    used: Used
    begin: int | None
    cost: PositionCost
    metadata: Metadata = "none"

    @property
    def verdict(self) -> str:
        """``failed`` if records are skipped or nothing says where to begin, ``warning`` if some come again."""
        if self.used == "nothing" or self.cost.skipped:
            return "failed"
        if self.cost.skipped is None or self.cost.again is None:
            return "unknown"
        return "warning" if self.cost.again or self.metadata == "wrong" else "ok"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "group": self.group,
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "verdict": self.verdict,
            "source_offset": self.source_offset,
            "exact_target_offset": self.exact,
            "existing_target_offset": self.begin,
            "existing_from": self.used,
            "again": self.cost.again,
            "skipped": self.cost.skipped,
            "metadata": self.metadata,
        }


@dataclass(frozen=True, slots=True)
class ExistingPositions:
    """What there is on the target for groups to begin with. Partitions have the names of the source.

    :param committed: by group, next to read
    :param checkpoints: by group, next to read
    :param unread_groups: groups whose committed offsets could not be read
    :param hidden: topics whose copies may not be seen; brokers leave out what groups have committed there
    :param all_checkpoints: whether all checkpoints could be read
    """

    committed: Committed
    checkpoints: Mapping[str, Mapping[TopicPartition, int]]
    unread_groups: Collection[str] = ()
    hidden: Collection[str] = ()
    all_checkpoints: bool = True

    def of(self, group: str, partition: TopicPartition) -> tuple[Used, int | None]:
        """Return where a group would begin, and by what."""
        committed = self.committed.get(group, {}).get(partition)
        if committed is not None:
            return "committed", committed
        if group in self.unread_groups or partition.topic in self.hidden:
            return "unknown", None
        checkpoint = self.checkpoints.get(group, {}).get(partition)
        if checkpoint is not None:
            return "checkpoint", checkpoint
        return "nothing" if self.all_checkpoints else "unknown", None


def positions_of(
    committed: Committed, existing: ExistingPositions, compared: Mapping[TopicPartition, PartitionComparison]
) -> tuple[GroupPosition, ...]:
    """Return what becomes of each committed offset.

    :param committed: on the source
    :param compared: the partitions that were compared; of others nothing is known
    """
    copied = {p: CopiedPartition(each) for p, each in compared.items()}
    found = []
    for group, offsets in sorted(committed.items()):
        for partition, position in sorted(offsets.items()):
            used, begin = existing.of(group, partition)
            of = copied.get(partition)
            if of is not None and of.never_held_a_record:
                used, begin = "any", 0
            exact = None if of is None else of.exact(position)
            cost = UNKNOWN_COST if of is None or begin is None else of.cost(position, begin)
            metadata = _metadata(position, begin, of)
            found.append(GroupPosition(group, partition, position, exact, used, begin, cost, metadata))
    return tuple(found)


def _metadata(position: int, begin: int | None, of: CopiedPartition | None) -> Metadata:
    """Return whether the commit metadata of an offset is on the target, and right there."""
    text = metadata_of(position)
    if not text:
        return "none"
    is_there = begin is not None and metadata_of(begin) == text and of is not None and begin == of.exact(position)
    if not is_there or of is None:
        return "wrong"
    return "right" if not depends_on_what_follows(text) or of.has_same_distances(position) else "wrong"


def by_group(positions: Sequence[GroupPosition], readers: Sequence[CoveredReader] = ()) -> list[dict[str, Any]]:
    """Return one row for each group, as JSON: the worst of its partitions, and sums.

    :param readers: what needs more than a moved offset. One that may read and has committed no offset has a row, too:
        nobody knows what it would read again or skip
    """
    of: dict[str, list[GroupPosition]] = {}
    for each in positions:
        of.setdefault(each.group, []).append(each)
    known = {reader.group: reader for reader in readers}
    without = {name for name, reader in known.items() if reader.best == "unknown" and name not in of}
    return [_group_row(name, of.get(name, ()), known.get(name)) for name in sorted(of.keys() | without)]


def at_best(verdict: str, reader: CoveredReader | None) -> str:
    """Return a verdict that is no better than a reader may get.

    :param reader: ``None`` for a group that is its offsets alone
    """
    return verdict if reader is None else max(verdict, reader.best, key=_ORDER.index)


def _group_row(group: str, of: Sequence[GroupPosition], reader: CoveredReader | None) -> dict[str, Any]:
    placed = [each for each in of if each.used != "nothing"]
    return {
        "group": group,
        "kind": reader.called if reader else PLAIN,
        "verdict": at_best(max((each.verdict for each in of), key=_ORDER.index, default="ok"), reader),
        "partitions": len(of),
        "again": _total([each.cost.again for each in placed]) if of else None,
        "skipped": _total([each.cost.skipped for each in placed]) if of else None,
        "partitions_without_position": len(of) - len(placed),
        "metadata_wrong": sum(each.metadata == "wrong" for each in of),
    }


def _total(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(each for each in values if each is not None)
