"""What a translation answers: the offset on the target, and how sure it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kafka_dr.codec import StoredDocument, decode, stored
from kafka_dr.offsets.translate.local_check import LocalVerdict
from kafka_dr.positions import Committed, CommittedOffset, PartitionOffset, TopicPartition

#: ``exact``: nothing is skipped and nothing delivered again. ``bounded``: nothing is skipped, and what may be delivered
#: again is counted. ``declared``: its owners chose a start that may skip records, and how many is counted. ``unknown``:
#: there is no offset.
Kind = Literal["exact", "bounded", "declared", "unknown"]
_SUREST_FIRST: tuple[str, ...] = get_args(Kind)


def badness(kind: str) -> int:
    """Return a number that is greater the less sure an offset is; an unknown word is the least sure of all."""
    return _SUREST_FIRST.index(kind) if kind in _SUREST_FIRST else len(_SUREST_FIRST)


@dataclass(frozen=True, slots=True)
class Translation:
    """One offset of the source, and what it is on the target. Both are next to read.

    :param redelivered_at_most: records below the source offset that may be delivered again; ``None`` if unknown
    :param skipped_at_most: unread records that it skips by its owners' choice; 0 if they chose nothing, ``None`` if
        that is not known
    :param proof: what the records around it say, whatever led to it
    :param second_copies: how many of the records that are delivered again are second copies, at most: another
        replication made them, before a take over
    """

    source_offset: int
    target_offset: int | None
    kind: Kind = field(metadata=stored("class"))
    redelivered_at_most: int | None
    reason: str
    skipped_at_most: int | None = 0
    proof: LocalVerdict = "unknown"
    second_copies: int = 0

    def of(self, group: str, partition: TopicPartition) -> TranslatedOffset:
        """Return the same, as the offset that a group has committed."""
        return TranslatedOffset(
            self.source_offset,
            self.target_offset,
            self.kind,
            self.redelivered_at_most,
            self.reason,
            self.skipped_at_most,
            self.proof,
            self.second_copies,
            group=group,
            partition=partition,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedOffset(Translation, StoredDocument):
    """What becomes of the offset that a group has committed in a partition.

    :param metadata: the commit metadata that is committed with it
    :param metadata_left_out: why the commit metadata of the source is not; empty if it is, or if there was none
    """

    group: str
    partition: TopicPartition
    metadata: str = field(default="", metadata=stored(omitted=True))
    metadata_left_out: str = field(default="", metadata=stored(omitted=True))

    @property
    def on_source(self) -> PartitionOffset:
        """What the group has committed, next to read on the source."""
        return self.partition, self.source_offset


def translations_to_json(translated: Iterable[TranslatedOffset]) -> dict[str, list[dict[str, Any]]]:
    """Return translated offsets as the fact that a cut-over journals."""
    return {"positions": [each.to_json() for each in translated]}


def translations_from_json(fact: Mapping[str, Any]) -> list[TranslatedOffset]:
    """Read the fact that :func:`translations_to_json` returned; an empty fact has no offsets."""
    return list(decode(tuple[TranslatedOffset, ...], fact.get("positions", ())))


def to_commit(translated: Iterable[TranslatedOffset]) -> dict[str, dict[TopicPartition, int]]:
    """Return the offsets to commit on the target, by group and partition; one without a translation is left out."""
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for each in translated:
        if each.target_offset is not None:
            offset = CommittedOffset(each.target_offset, each.metadata) if each.metadata else each.target_offset
            offsets.setdefault(each.group, {})[each.partition] = offset
    return offsets


def starts_of_empty(committed: Committed, empty: Collection[TopicPartition]) -> tuple[TranslatedOffset, ...]:
    """Give groups an offset in partitions of their topics that they never committed to and that hold no record.

    Every start is the same there. A committed offset keeps a group that starts at the latest record from skipping the
    first one. In a partition that holds records the group's own reset decides, as it does on the source.

    :param empty: partitions that never held a record, on either cluster
    """
    reason = "never committed, and there is no record: from the start"
    return tuple(
        Translation(0, 0, "exact", 0, reason, proof="right").of(group, partition)
        for group, offsets in sorted(committed.items())
        for partition in sorted(empty)
        if partition not in offsets and partition.topic in {p.topic for p in offsets}
    )
