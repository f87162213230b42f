"""The verified frontier, advanced by a plain client that reads both sides.

Both logs are read in strides, all partitions beside each other, so memory is bounded by the stride. What was matched
is remembered after each: an interrupted comparison goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from kafka_dr.audit.comparison import Comparison, Entry, compare, distance
from kafka_dr.audit.finding import Finding, FindingKind, Start, Verified
from kafka_dr.audit.fingerprint import fingerprint
from kafka_dr.audit.store import FileFrontierStore, Place, Remembered
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition

_STRIDE = 10_000
#: Offsets on the target beyond twice the source's: replication may write a marker after each record.
_ROOM = 256

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Side:
    """One cluster, at one moment."""

    cluster_id: str
    topics: Mapping[str, Topic]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


class PlainFrontier:
    """Compares record by record, in lock step, from where it stopped the last time.

    :param source: reached as audit
    :param target: reached as audit
    :param store: remembers how far it got
    :param starts: where this direction began, by partition; others begin at the start of both logs
    :param epoch: whose seed that was; another epoch begins anew
    """

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        *,
        store: FileFrontierStore,
        starts: Mapping[TopicPartition, Start] | None = None,
        epoch: int = 0,
    ) -> None:
        self._source = source
        self._target = target
        self._store = store
        self._starts = starts or {}
        self._epoch = epoch
        self._direction = f"{source.name}-to-{target.name}"

    def advance(self, until: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Verified]:
        """Compare further, up to these source offsets, and return how far each partition is verified."""
        if not until:
            return {}
        here, there = _both(lambda: _look(self._source, until), lambda: _look(self._target, until))
        identity = (here.cluster_id, there.cluster_id, self._epoch)
        kept = self._kept(identity, here, there)
        walks = {
            p: _Walk(p, until=end, place=kept.get(p), start=self._starts.get(p), source=here, target=there)
            for p, end in until.items()
        }
        while walking := [walk for walk in walks.values() if not walk.done]:
            self._advance(walking)
            self._keep(identity, here, there, kept | {p: walk.place for p, walk in walks.items()})
        return {p: walk.verified for p, walk in walks.items()}

    def _advance(self, walking: Collection[_Walk]) -> None:
        entries, copies = _both(
            lambda: _read(self._source, {walk.partition: walk.source_window() for walk in walking}),
            lambda: _read(self._target, {walk.partition: walk.target_window() for walk in walking}),
        )
        for walk in walking:
            walk.look(entries.get(walk.partition, []), copies.get(walk.partition, []))

    def _kept(self, identity: tuple[str, str, int], here: _Side, there: _Side) -> dict[TopicPartition, Place]:
        remembered = self._store.read(self._direction)
        if remembered is None or remembered.identity != identity:
            return {}
        ids = _topic_ids(here, there)
        # A topic that this call is not about keeps its place; one that was created again loses it.
        return {
            p: place
            for p, place in remembered.places.items()
            if ids.get(p.topic, remembered.topic_ids[p.topic]) == remembered.topic_ids[p.topic]
        }

    def _keep(
        self, identity: tuple[str, str, int], here: _Side, there: _Side, places: Mapping[TopicPartition, Place]
    ) -> None:
        remembered = self._store.read(self._direction)
        older = remembered.topic_ids if remembered is not None and remembered.identity == identity else {}
        ids = {**older, **_topic_ids(here, there)}
        known = {p: place for p, place in places.items() if p.topic in ids}
        self._store.write(self._direction, Remembered(identity, ids, known))


class _Walk:
    """One partition on its way to an offset."""

    def __init__(
        self,
        partition: TopicPartition,
        *,
        until: int,
        place: Place | None,
        start: Start | None,
        source: _Side,
        target: _Side,
    ) -> None:
        self.partition = partition
        self.finding: Finding | None = None
        self._source_start, self._target_start = source.starts.get(partition, 0), target.starts.get(partition, 0)
        self._target_end = target.ends.get(partition, 0)
        self._until = min(until, source.ends.get(partition, 0))
        #: Whether the logs' own starts are where it begins: there, one side may have kept more than the other.
        self._from_start = place is None and start is None
        if place is not None:
            self.place = place
        elif start is not None:
            self.place = Place(start.source_offset, start.target_offset)
        else:
            self.place = Place(self._source_start, self._target_start)
        self._reach = 2 * _STRIDE + _ROOM
        self._refuse_expired()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to read."""
        return self.finding is not None or self.place.source_offset >= self._until

    @property
    def verified(self) -> Verified:
        """How far it got."""
        place = self.place
        return Verified(
            self.partition, place.source_offset, place.target_offset, place.records, self.finding, place.skipped
        )

    def source_window(self) -> OffsetRange:
        """Return what to read of the source next."""
        start = self.place.source_offset
        return OffsetRange(start, min(self._until, start + _STRIDE))

    def target_window(self) -> OffsetRange:
        """Return what to read of the target next."""
        start = min(self.place.target_offset, self._target_end)
        return OffsetRange(start, min(self._target_end, start + self._reach))

    def look(self, source: list[Entry], target: list[Entry]) -> None:
        """Take in what lies in both windows."""
        window, reached_end = self.source_window(), self.target_window().end == self._target_end
        if self._from_start and source and target and source[0].content != target[0].content:
            source, target = self._skip_expired(source, target)
        self._from_start = self._from_start and not source
        found = compare(source, target)
        if found.outcome == "equal":
            at_end = reached_end and found.matched == len(target)
            after = self._target_end if at_end else self._after(target, found)
            self._move(window.end, max(after, self.place.target_offset), found.matched)
            return
        if found.matched:
            self._move(source[found.matched - 1].offset + 1, self._after(target, found), found.matched)
        if found.outcome == "target_ended" and not reached_end:
            self._reach *= 4
            return
        self._report(found, source[found.matched].offset, target, found.matched)

    def _after(self, target: list[Entry], found: Comparison) -> int:
        return target[found.matched - 1].offset + 1 if found.matched else self.place.target_offset

    def _move(self, source_offset: int, target_offset: int, records: int) -> None:
        place = self.place
        self.place = replace(
            place, source_offset=source_offset, target_offset=target_offset, records=place.records + records
        )

    def _skip_expired(self, source: list[Entry], target: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Leave out records at the beginning that only one side has because those of the other expired."""
        on_target = distance(source[0], target, 0) if self._source_start > 0 else None
        on_source = distance(target[0], source, 0) if self._target_start > 0 else None
        self.place = replace(self.place, skipped=self.place.skipped + (on_target or on_source or 0))
        return source[on_source or 0 :], target[(on_target or 0) :]

    def _refuse_expired(self) -> None:
        place = self.place
        if self.done:
            return
        sides = (
            ("source", place.source_offset, self._source_start),
            ("target", place.target_offset, self._target_start),
        )
        for side, offset, start in sides:
            if offset < start:
                sentence = (
                    f"the {side}'s records from {offset} to {start} expired before they were compared: nothing can be "
                    "said about them; compare more often, or keep them longer"
                )
                self._found(FindingKind.UNVERIFIABLE, place.source_offset, place.target_offset, None, sentence)
                return

    def _report(self, found: Comparison, source_offset: int, target: list[Entry], at: int) -> None:
        target_offset = target[at].offset if at < len(target) else self._target_end
        both = f"source offset {source_offset}, target offset {target_offset}"
        match found.outcome:
            case "target_ended":
                sentence = f"the target ends at {target_offset} and lacks the source's record {source_offset}"
                self._found(FindingKind.MISSING, source_offset, target_offset, None, sentence)
            case "lost":
                sentence = f"{found.records} records of the source are not on the target, from {both} on"
                self._found(FindingKind.LOST, source_offset, target_offset, found.records, sentence)
            case "foreign":
                sentence = f"{found.records} records on the target did not come from the source, from {both} on"
                self._found(FindingKind.FOREIGN, source_offset, target_offset, found.records, sentence)
            case _:
                sentence = f"the target holds another record in the place of the source's: {both}"
                self._found(FindingKind.DIFFERENT, source_offset, target_offset, None, sentence)

    def _found(
        self, kind: FindingKind, source_offset: int, target_offset: int, records: int | None, sentence: str
    ) -> None:
        self.finding = Finding(kind, self.partition, source_offset, target_offset, records, sentence)


def _look(cluster: KafkaCluster, partitions: Collection[TopicPartition]) -> _Side:
    """Look at a cluster once; a topic or partition that it does not have holds nothing there."""
    names = {p.topic for p in partitions}
    topics = cluster.topics.describe(names & cluster.topics.names())
    there = [p for p in partitions if p.topic in topics and p.partition < len(topics[p.topic].leaders)]
    return _Side(
        cluster_id=cluster.topics.identity().cluster_id,
        topics=topics,
        starts=cluster.topics.log_starts(there),
        ends=cluster.topics.last_stable_offsets(there),
    )


def _topic_ids(here: _Side, there: _Side) -> dict[str, tuple[str, str]]:
    both = here.topics.keys() & there.topics.keys()
    return {name: (here.topics[name].topic_id, there.topics[name].topic_id) for name in both}


def _read(cluster: KafkaCluster, windows: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, list[Entry]]:
    entries: dict[TopicPartition, list[Entry]] = {}
    for record in cluster.log.read(windows):
        content = fingerprint(
            timestamp_ms=record.timestamp_ms, key=record.key, value=record.value, headers=record.headers
        )
        entries.setdefault(record.topic_partition, []).append(Entry(record.offset, content))
    return entries


def _both(here: Callable[[], T], there: Callable[[], T]) -> tuple[T, T]:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(here), pool.submit(there)
        return first.result(), second.result()
