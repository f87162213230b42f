"""The payloads of the few records that a finding is about, read again by their offsets.

A payload may be ten megabytes, so only digests of its parts are kept; they are enough to compare it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from copy_audit.arrivals import Keys
from kafka_dr.audit.corruption import Parts, Payload, PayloadOf, Unseen
from kafka_dr.audit.difference import Suspects, UnmatchedRecord
from kafka_dr.clusters import ClusterError, OffsetRange, TopicPartition
from kafka_dr.clusters.model import Record
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.parallel import ask_all, at_once

#: Records closer than this are read at once: reading what is between them costs less than another request.
_NEAR = 64
#: Offsets that are read at once; after each such range, the bytes are counted.
_LONGEST = 1_000
#: Readers of one cluster, and the least number of rounds for each.
_MOST_READERS, _ROUNDS_EACH = 4, 8
#: After this many bytes of a topic and cluster, no more are read: that takes minutes, and an audit has to end.
_MOST_BYTES = 8 * 1024**3

#: Offsets of a partition whose keys are asked for at once.
_MOST_KEYS = 200_000

_PartitionOffset = tuple[int, int]
_Round = Mapping[TopicPartition, OffsetRange]


def payloads_of(
    topic: str, *, source: FlowCluster, target: FlowCluster, restamped: bool, most_bytes: int = _MOST_BYTES
) -> Callable[[Sequence[Suspects]], tuple[PayloadOf, PayloadOf]]:
    """Return a function that reads the payloads of suspects of a topic, from both clusters at once.

    :param restamped: whether timestamps cannot be compared
    :param most_bytes: how much is read of each cluster at most
    """

    def fetch(suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
        of_source = [record for each in suspects for record in each.source]
        of_target = [record for each in suspects for record in each.target]
        on_source, on_target = at_once(
            _PayloadReader.of(source, topic, of_source, restamped, most_bytes).all,
            _PayloadReader.of(target, topic, of_target, restamped, most_bytes).all,
        )
        return _looking_in(on_source), _looking_in(on_target)

    return fetch


def keys_of(topic: str, source: FlowCluster, *, most_bytes: int = _MOST_BYTES) -> Keys:
    """Return a function that reads the keys of a topic's records on the source.

    :param most_bytes: how much is read of each partition at most; brokers return no key without its value
    """

    def read(partition: int, start: int, end: int) -> Mapping[int, bytes | None] | None:
        about = TopicPartition(topic, partition)
        found: dict[int, bytes | None] = {}
        left = most_bytes
        try:
            if end - start > _MOST_KEYS or source.topics.log_starts([about])[about] > start:
                return None
            for first in range(start, end, _LONGEST):
                if left <= 0:
                    return None
                for record in source.log.read({about: OffsetRange(first, min(end, first + _LONGEST))}):
                    found[record.offset] = record.key
                    left -= len(record.key or b"") + len(record.value or b"")
        except ClusterError:
            return None
        return found

    return read


def _looking_in(found: Mapping[_PartitionOffset, Parts | Unseen]) -> PayloadOf:
    return lambda record: found[record.partition, record.offset]


@dataclass(slots=True)
class _PayloadReader:
    """The payloads of one cluster while they are read.

    :param found: by partition and offset; :attr:`Unseen.TOO_MUCH` until the payload was read
    :param wanted: the offsets by partition, rising
    :param left: bytes that may still be read
    """

    cluster: FlowCluster
    topic: str
    restamped: bool
    found: dict[_PartitionOffset, Parts | Unseen]
    wanted: Mapping[int, Sequence[int]]
    left: int
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(
        cls, cluster: FlowCluster, topic: str, records: Iterable[UnmatchedRecord], restamped: bool, most_bytes: int
    ) -> _PayloadReader:
        found: dict[_PartitionOffset, Parts | Unseen] = {
            (each.partition, each.offset): Unseen.TOO_MUCH for each in records
        }
        wanted: dict[int, list[int]] = {}
        for partition, offset in sorted(found):
            wanted.setdefault(partition, []).append(offset)
        return cls(cluster, topic, restamped, found, wanted, most_bytes)

    def all(self) -> Mapping[_PartitionOffset, Parts | Unseen]:
        """Read them, and return what was found of each."""
        rounds = list(_rounds(self.topic, self.wanted))
        # Most of a round is waiting for the brokers; another reader costs as much as a few rounds.
        readers = min(_MOST_READERS, len(rounds) // _ROUNDS_EACH + 1)

        def read(number: int) -> None:
            for ranges in rounds[number::readers]:
                if self.left > 0:
                    self._round(ranges)

        ask_all(read, range(readers))
        return self.found

    def _round(self, ranges: _Round) -> None:
        try:
            for record in self.cluster.log.read(ranges):
                self._take(record)
        except ClusterError:
            if len(ranges) > 1:
                for partition, wanted in ranges.items():
                    self._round({partition: wanted})
                return
            self._refused(*next(iter(ranges.items())))
        else:
            for partition, wanted in ranges.items():
                self._say(partition, wanted, Unseen.GONE)

    def _take(self, record: Record) -> None:
        about = (record.partition, record.offset)
        size = len(record.key or b"") + len(record.value or b"")
        if about in self.found:
            stamped = None if self.restamped else record.timestamp_ms
            self.found[about] = Parts.of(Payload(record.key, record.value, record.headers, stamped))
        with self._lock:
            self.left -= size

    def _refused(self, partition: TopicPartition, wanted: OffsetRange) -> None:
        """Find out why a range could not be read: records that were deleted do not make the rest unreadable."""
        try:
            start = self.cluster.topics.log_starts([partition])[partition]
        except ClusterError:
            start = wanted.start
        gone = OffsetRange(wanted.start, min(max(start, wanted.start), wanted.end))
        self._say(partition, gone, Unseen.GONE)
        if not len(gone):
            self._say(partition, wanted, Unseen.REFUSED)
        elif gone.end < wanted.end:
            self._round({partition: OffsetRange(gone.end, wanted.end)})

    def _say(self, partition: TopicPartition, within: OffsetRange, why: Unseen) -> None:
        """Set why records of a range were not found."""
        number = partition.partition
        offsets = self.wanted[number]
        for offset in offsets[bisect_left(offsets, within.start) : bisect_left(offsets, within.end)]:
            if self.found[number, offset] is Unseen.TOO_MUCH:
                self.found[number, offset] = why


def _rounds(topic: str, wanted: Mapping[int, Sequence[int]]) -> Iterator[_Round]:
    """Yield ranges that cover the records: one of each partition in each round, so that they are fetched together."""
    queues = {partition: deque(covering(offsets)) for partition, offsets in wanted.items()}
    while queues := {partition: queue for partition, queue in queues.items() if queue}:
        yield {TopicPartition(topic, partition): queue.popleft() for partition, queue in queues.items()}


def covering(offsets: Sequence[int]) -> Iterator[OffsetRange]:
    """Yield short ranges that cover these rising offsets."""
    if not offsets:
        return
    start = end = offsets[0]
    for offset in offsets:
        if offset >= end + _NEAR or offset - start >= _LONGEST:
            yield OffsetRange(start, end)
            start = offset
        end = offset + 1
    yield OffsetRange(start, end)
