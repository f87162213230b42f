"""Somebody else's replicator in its plainest form: it reads a topic and writes it under another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from kafka_dr.clusters import KafkaCluster, OffsetRange, Record, TopicPartition
from kafka_dr.clusters.writing import NewRecord

#: What becomes of a record: as often it is copied.
Copies = Callable[[Record], int]


@contextmanager
def copying(
    source: KafkaCluster, target: KafkaCluster, partitions: Sequence[TopicPartition], name: str, copies: Copies
) -> Iterator[None]:
    """Copy all records of partitions as long as the block runs.

    :param name: what the topic is called on the target
    """
    over = Event()

    def copy() -> None:
        done = dict.fromkeys(partitions, 0)
        while not over.wait(0.05):
            ends = source.topics.last_stable_offsets(partitions)
            new = {p: OffsetRange(done[p], ends[p]) for p in partitions if ends[p] > done[p]}
            found = [record for record in source.log.read(new) for _ in range(copies(record))]
            target.writing.append(
                NewRecord(TopicPartition(name, r.partition), r.key, r.value, r.headers, r.timestamp_ms) for r in found
            )
            done |= {p: each.end for p, each in new.items()}

    thread = Thread(target=copy, name="copier", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)
