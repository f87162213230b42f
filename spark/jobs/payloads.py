"""The payloads of the few records that a finding is about, read again by their offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kafka_dr.audit.corruption import Payload, PayloadOf
from kafka_dr.audit.difference import Loose, Suspects
from kafka_dr.clusters import ClusterError, KafkaCluster, OffsetRange, TopicPartition

#: Records nearer together than this are read in one go: what lies between costs less than another request.
_NEAR = 64
#: Readers of one side, and how many rounds each is worth.
_MOST_READERS, _ROUNDS_EACH = 4, 8
#: Of more records than this in a topic the rest is judged by time alone.
_MOST = 200_000


def payloads_of(
    topic: str, *, source: KafkaCluster, target: KafkaCluster, restamped: bool
) -> Callable[[Sequence[Suspects]], tuple[PayloadOf, PayloadOf]]:
    """Return what fetches the payloads of suspects of a topic, from both sides at once."""

    def fetch(suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
        here = [record for each in suspects for record in each.source]
        there = [record for each in suspects for record in each.target]
        with ThreadPoolExecutor(2) as pool:
            wanted = [(source, here), (target, there)]
            jobs = [pool.submit(_read, cluster, topic, records, restamped) for cluster, records in wanted]
            found = [job.result() for job in jobs]
        return _looking_in(found[0]), _looking_in(found[1])

    return fetch


def _looking_in(found: Mapping[tuple[int, int], Payload]) -> PayloadOf:
    return lambda record: found.get((record.partition, record.offset))


def _read(
    cluster: KafkaCluster, topic: str, records: Iterable[Loose], restamped: bool
) -> dict[tuple[int, int], Payload]:
    wanted = {(record.partition, record.offset) for record in list(records)[:_MOST]}
    rounds = list(_rounds(topic, wanted))
    # Most of a round is waiting for the brokers; a reader of its own costs as much as some of them.
    readers = min(_MOST_READERS, len(rounds) // _ROUNDS_EACH + 1)

    def read(number: int) -> dict[tuple[int, int], Payload]:
        found: dict[tuple[int, int], Payload] = {}
        for ranges in rounds[number::readers]:
            # What was deleted since it was scanned is judged by time alone, and the finding says so.
            with suppress(ClusterError):
                for record in cluster.log.read(ranges):
                    if (record.partition, record.offset) in wanted:
                        found[record.partition, record.offset] = Payload(
                            record.key, record.value, record.headers, None if restamped else record.timestamp_ms
                        )
        return found

    with ThreadPoolExecutor(readers) as pool:
        return {place: payload for found in pool.map(read, range(readers)) for place, payload in found.items()}


def _rounds(topic: str, wanted: Iterable[tuple[int, int]]) -> Iterable[dict[TopicPartition, OffsetRange]]:
    """Yield ranges that cover the records: in each round one of every partition, so that all are fetched together."""
    queues: dict[int, deque[OffsetRange]] = {}
    for partition, offset in sorted(wanted):
        queue = queues.setdefault(partition, deque())
        if queue and offset < queue[-1].end + _NEAR:
            queue[-1] = OffsetRange(queue[-1].start, offset + 1)
        else:
            queue.append(OffsetRange(offset, offset + 1))
    while queues := {partition: queue for partition, queue in queues.items() if queue}:
        yield {TopicPartition(topic, partition): queue.popleft() for partition, queue in queues.items()}
