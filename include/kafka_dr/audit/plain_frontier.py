"""The verified frontier, advanced by a plain client that reads both sides.

Both logs are read in strides, all partitions beside each other, so memory is bounded by the stride. What was matched
is remembered after each: an interrupted comparison goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kafka_dr.audit.comparison import Entry
from kafka_dr.audit.finding import Start, Verified
from kafka_dr.audit.fingerprint import fingerprint
from kafka_dr.audit.store import FileFrontierStore, Place, Remembered
from kafka_dr.audit.walk import Walk
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition

#: What a cluster holds of a partition that it does not have.
_NOTHING = OffsetRange(0, 0)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Side:
    """One cluster, at one moment."""

    cluster_id: str
    topics: Mapping[str, Topic]
    held: Mapping[TopicPartition, OffsetRange]


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
            p: Walk(
                p,
                until=end,
                place=kept.get(p),
                start=self._starts.get(p),
                source=here.held.get(p, _NOTHING),
                target=there.held.get(p, _NOTHING),
            )
            for p, end in until.items()
        }
        while walking := [walk for walk in walks.values() if not walk.done]:
            self._advance(walking)
            self._keep(identity, here, there, kept | {p: walk.place for p, walk in walks.items()})
        return {p: walk.verified for p, walk in walks.items()}

    def _advance(self, walking: Collection[Walk]) -> None:
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


def _look(cluster: KafkaCluster, partitions: Collection[TopicPartition]) -> _Side:
    """Look at a cluster once; a topic or partition that it does not have holds nothing there."""
    names = {p.topic for p in partitions}
    topics = cluster.topics.describe(names & cluster.topics.names())
    there = [p for p in partitions if p.topic in topics and p.partition < len(topics[p.topic].leaders)]
    starts, ends = cluster.topics.log_starts(there), cluster.topics.last_stable_offsets(there)
    return _Side(
        cluster_id=cluster.topics.identity().cluster_id,
        topics=topics,
        held={p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in there},
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
