"""Looks at the active cluster while it answers, so that its groups and the loss are known when it no longer does.

The last look is a small file under the evidence root, outside the datacenter of that cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clusters import NotFound, OffsetRange, TopicPartition
from kafka_dr.clusters.held_back import held_back_in_words
from kafka_dr.codec import GroupPositions, StoredDocument, stored
from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.group_offsets import local_groups, other_topics, unmovable_groups
from kafka_dr.group_offsets.left_to_do import read_share_starts
from kafka_dr.group_offsets.other_topics import Elsewhere, ReadElsewhere
from kafka_dr.json_documents import DocumentDamaged, JsonFile, Recorder, not_recorded
from kafka_dr.positions import Committed
from kafka_dr.readers.recognition import StreamsApplication
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.recorded_files import recorder
from kafka_dr.runs.run import Run

#: Records that wait to be copied and are kept one by one: in each partition, and in all of them together.
_MOST_WAITING, _MOST_IN_ALL = 1_000, 50_000
#: How long groups may take to rebalance; a look is taken every minute, the next one asks again.
_SETTLE_SECONDS = 1.0
#: How much time the usual rate is a mean of.
_USUAL_SECONDS = 3600.0
_SCHEMA_VERSION = 1


#: Offsets by partition, as ranges that rise.
HeldRanges = Mapping[TopicPartition, tuple[OffsetRange, ...]]


@dataclass(frozen=True, slots=True)
class LastLook(StoredDocument):
    """What was seen of the active cluster.

    :param epoch: of the register, whose active cluster this is
    :param at: when, aware: everything here is from that moment or shortly after it
    :param ends: high watermark by partition: acknowledged records may be after an open transaction
    :param groups: what groups had committed there, next to read
    :param waiting: offsets of records that were not copied yet, by partition, up to the last stable offset
    :param uncounted: partitions in which more records may wait: the flow has no offset there, too many offsets wait, or
        what an open transaction holds back could not be read
    :param held_back: ranges of acknowledged records that an open transaction kept from being copied, by partition
    :param undecided: ranges of records of open transactions, by partition: lost only if they are not aborted
    :param held_by: whose transactions those are and since when, in words
    :param local: what groups had committed there that read there alone, and that no failover moves
    :param ids_of_copies: of the copies there that have other names than their originals, by their names
    :param copy_lag_seconds: how long the copy took, as canaries showed it; ``None`` if unknown
    :param usual_per_second: offsets that are written in a second, over about an hour; ``None`` if unknown
    :param share_starts: where the state of share groups begins, next to read
    :param streams: the group's Kafka Streams applications
    :param more_than_offsets: groups that an offset alone does not move, a sentence each
    :param elsewhere: what these groups read outside the protection group; ``None`` if nobody asked
    :param elsewhere_unknown: of which groups it is not known, and why, a sentence each
    """

    epoch: int
    at: datetime
    ends: Mapping[TopicPartition, int]
    groups: GroupPositions
    waiting: Mapping[TopicPartition, tuple[int, ...]]
    more_than_offsets: tuple[str, ...] = ()
    elsewhere: tuple[Elsewhere, ...] | None = None
    elsewhere_unknown: tuple[str, ...] = ()
    uncounted: frozenset[TopicPartition] = frozenset()
    share_starts: GroupPositions = field(default_factory=dict)
    streams: tuple[StreamsApplication, ...] = ()
    held_back: HeldRanges = field(default_factory=dict)
    undecided: HeldRanges = field(default_factory=dict)
    held_by: tuple[str, ...] = ()
    local: GroupPositions = field(default_factory=dict, metadata=stored(omitted=True))
    ids_of_copies: Mapping[str, str] = field(default_factory=dict, metadata=stored(omitted=True))
    copy_lag_seconds: float | None = field(default=None, metadata=stored(omitted=True))
    usual_per_second: float | None = field(default=None, metadata=stored(omitted=True))

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"the look is stamped {self.at}, which has no time zone: pass an aware datetime")

    @property
    def not_copied(self) -> int:
        """How many records were seen that were not copied then; those that may still be aborted are not among them."""
        return sum(map(len, self.waiting.values())) + _beyond(self.held_back, None)

    def certainly_lost(self, copied: Mapping[TopicPartition, int]) -> int:
        """Count records that were seen and not copied: at least so many are missing on the target.

        :param copied: next to copy, by partition, when the flow ended; a partition that is not in it does not count
        """
        waited = sum(sum(offset >= copied[p] for offset in seen) for p, seen in self.waiting.items() if p in copied)
        return waited + _beyond(self.held_back, copied)

    def held_in_words(self, copied: Mapping[TopicPartition, int] | None = None) -> str:
        """Say what open transactions held back, and whose they are; empty if nothing was.

        :param copied: as above; ``None``: as of the look
        """
        certain, undecided = (_beyond(each, copied) for each in (self.held_back, self.undecided))
        return held_back_in_words(certain, undecided, 0, self.held_by)

    def not_known_of(self, copied: Mapping[TopicPartition, int]) -> frozenset[TopicPartition]:
        """Return the partitions of which :meth:`certainly_lost` does not count everything that was there.

        :param copied: as above
        """
        beyond = {p for p in self.uncounted if p not in copied or copied[p] < self.ends[p]}
        return frozenset(beyond | {p for p in (*self.waiting, *self.held_back) if p not in copied})


class FileLookStore:
    """Keeps the last look at each direction of a protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param record: records the digest of a file before it is written
    """

    def __init__(self, root: Any, group: str, *, record: Recorder = not_recorded) -> None:
        self._folder = root.joinpath("last_looks", group)
        self._group, self._record = group, record

    def read(self, direction: str) -> LastLook | None:
        """Return the last look; ``None`` if there never was one.

        :raises NeedsPerson: there is a file, and it cannot be read
        """
        file = self._file(direction)
        try:
            return file.read()
        except (OSError, DocumentDamaged) as error:
            raise NeedsPerson(
                f"the last look in {file.path} cannot be read ({cause(error)}): restore the file from a copy"
            ) from error

    def write(self, direction: str, look: LastLook) -> None:
        """Replace what was kept. A reader sees the old file or the new one, never a part of it."""
        file = self._file(direction)
        sha256 = hashlib.sha256(file.encoded(look)).hexdigest()
        self._record(f"last_looks/{self._group}/{direction}.json", sha256)
        file.write(look)

    def _file(self, direction: str) -> JsonFile[LastLook]:
        return JsonFile.of(LastLook, self._folder.joinpath(f"{direction}.json"), _SCHEMA_VERSION)


def look(
    context: GroupContext, *, active: str, standby: str, epoch: int, copy_lag_seconds: float | None = None
) -> LastLook:
    """Look at the active cluster and keep what was seen.

    :param copy_lag_seconds: how long the copy takes, as canaries show it; ``None`` if unknown
    :raises ClusterUnreachable: a cluster does not answer, or the standby did not take the digest; what was kept before
        stays
    """
    found, direction = _seen(context, context.flow_between(active, standby), epoch=epoch), f"{active}-to-{standby}"
    record = recorder(context.clients, needed_on=standby, also_on=(active,))
    store = FileLookStore(context.clients.evidence_root, context.group.name, record=record)
    try:
        before = store.read(direction)
    except NeedsPerson:
        before = None  # it is replaced
    usual = usual_per_second(before, found) if before else None
    found = replace(found, copy_lag_seconds=copy_lag_seconds, usual_per_second=usual)
    store.write(direction, found)
    return found


def usual_per_second(before: LastLook, seen: LastLook) -> float | None:
    """Return how many offsets are usually written in a second: a mean in which an hour weighs most."""
    seconds, usual = (seen.at - before.at).total_seconds(), before.usual_per_second
    if before.epoch != seen.epoch:
        return None
    if seconds <= 0:
        return usual
    written = sum(max(0, end - before.ends[p]) for p, end in seen.ends.items() if p in before.ends)
    share = 1.0 if usual is None else min(1.0, seconds / _USUAL_SECONDS)
    return round((usual or 0.0) * (1 - share) + written / seconds * share, 3)


def kept(run: Run, *, source: str, target: str) -> LastLook | None:
    """Return the last look at a cluster that is now dead; ``None`` if nobody ever looked.

    :raises NeedsPerson: what was kept cannot be read
    """
    return FileLookStore(run.evidence_root, run.group.name).read(f"{source}-to-{target}")


def _seen(context: GroupContext, flow: Flow, *, epoch: int) -> LastLook:
    source = context.operator(flow.source)
    at: datetime = context.clock.now()
    moved, local = context.moved_groups(flow.source), local_groups.on(context, flow.source)
    groups = source.groups.offsets([*moved, *local], require_stable=False)
    held = source.held_back.look(context.partitions(flow.source))
    ends = held.ends
    try:
        copied = context.clients.replicator(flow).committed(remembered=True)
    except NotFound:
        copied = {}
    starts = source.topics.log_starts(ends)
    tails = {p: OffsetRange(max(starts[p], min(copied[p], end)), end) for p, end in held.stable.items() if p in copied}
    uncounted = {p for p, end in ends.items() if p not in copied and end > starts[p]}
    short = shortened({p: tail for p, tail in tails.items() if len(tail)})
    uncounted |= {p for p, tail in short.items() if len(tail) < len(tails[p])}
    uncounted |= {p for p, each in held.partitions.items() if each.not_read}
    waiting: dict[TopicPartition, list[int]] = {}
    for record in source.log.read(short):
        waiting.setdefault(record.topic_partition, []).append(record.offset)
    # Last: if the source stops answering now, what only it knows was read before.
    beyond, (more, shared, streams) = _read_elsewhere(context, flow.source), _special(context, flow)
    return LastLook(
        epoch=epoch,
        at=at,
        ends=ends,
        groups={
            group: {p: at for p, at in offsets.items() if context.group.moves_positions_in(p.topic, flow.source)}
            for group, offsets in groups.items()
            if group in moved
        },
        local=local_groups.owned(context, {group: groups[group] for group in local if group in groups}),
        waiting={p: tuple(offsets) for p, offsets in waiting.items()},
        more_than_offsets=more,
        share_starts=shared,
        streams=streams,
        elsewhere=beyond.rows,
        elsewhere_unknown=beyond.unknown,
        uncounted=frozenset(uncounted),
        held_back={p: each.acknowledged for p, each in held.partitions.items() if each.acknowledged},
        undecided={p: each.open_ranges for p, each in held.partitions.items() if each.undecided},
        held_by=held.held_by,
        ids_of_copies={name: topic.topic_id for name, topic in context.described_copies(flow.source).items()},
    )


def _beyond(held: HeldRanges, copied: Mapping[TopicPartition, int] | None) -> int:
    """Count the offsets that are not copied; a partition of which that is not known does not count."""
    if copied is None:
        return sum(len(each) for ranges in held.values() for each in ranges)
    return sum(
        each.end - min(max(each.start, copied[p]), each.end)
        for p, ranges in held.items()
        if p in copied
        for each in ranges
    )


def shortened(tails: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, OffsetRange]:
    """Return how much is read of each tail: a flow of thousands of partitions may have been down for hours."""
    most = min(_MOST_WAITING, max(1, _MOST_IN_ALL // max(1, len(tails))))
    return {p: OffsetRange(tail.start, min(tail.end, tail.start + most)) for p, tail in tails.items()}


def _read_elsewhere(context: GroupContext, active: str) -> ReadElsewhere:
    try:
        return other_topics.look(context, active, seconds=_SETTLE_SECONDS)
    except KafkaDrError as error:
        return ReadElsewhere((), (f"what its groups read elsewhere could not be asked: {error}",))


def _special(context: GroupContext, flow: Flow) -> tuple[tuple[str, ...], Committed, tuple[StreamsApplication, ...]]:
    """Return the readers that need more than a moved offset: sentences, starts of share groups, applications."""
    try:
        found = unmovable_groups.look(context, flow.source, flow.target)
        shared = read_share_starts(context, flow.source, [each.group for each in found.share])
    except KafkaDrError as error:
        return (f"whether a group is more than its offsets could not be asked: {error}",), {}, ()
    return (*found.refused, *found.accepted), shared, tuple(each.application for each in found.streams)
