"""The logs of the benchmark: equal ones on both clusters, and one whose copy has a thousand faults of all kinds."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.errors import LabError

FAULTS = 1_000
_SECONDS = 60.0
#: Random bytes that values are cut from: nothing compresses them, and making them costs nothing.
_POOL_BYTES = 1 << 20
_KINDS = ("lost", "twice", "value", "key", "header", "time", "late", "moved", "strange", "again")
_AGAIN = 5  # records that a replay delivers again


@dataclass(frozen=True, slots=True)
class Shape:
    """One topic.

    :param size: bytes of a value
    :param faults: in its copy
    """

    topic: str
    partitions: int
    records: int
    size: int
    faults: int = 0


def shapes(records: int) -> tuple[Shape, ...]:
    """Return the topics: many small records and fewer large ones, once equal and once with faults."""
    large = max(records // 10, 1)
    return (
        Shape("orders.bench-small", 6, records, 200),
        Shape("orders.bench-large", 2, large, 2_000),
        Shape("orders.bench-small-faulty", 6, records, 200, FAULTS * 9 // 10),
        Shape("orders.bench-large-faulty", 2, large, 2_000, FAULTS // 10),
    )


def write(settings: Mapping[str, Mapping[str, str]], wanted: tuple[Shape, ...]) -> None:
    """Write the logs of all clusters at the same time.

    :param settings: of a principal that may, in librdkafka's names; the first cluster is the source, the others copies
    """
    pool, now_ms = os.urandom(_POOL_BYTES), int(time.time() * 1000)
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_write, args=(dict(access), wanted, pool, now_ms, number > 0))
        for number, access in enumerate(settings.values())
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    if any(writer.exitcode for writer in writers):
        raise LabError("the logs of the benchmark could not be written: see above, and run it again with --home NEW")


def _write(settings: dict[str, str], wanted: tuple[Shape, ...], pool: bytes, now_ms: int, copy: bool) -> None:
    with AdminClient(settings) as admin:
        topics = [NewTopic(shape.topic, shape.partitions, 1) for shape in wanted]
        for future in admin.create_topics(topics, request_timeout=_SECONDS).values():
            future.result(_SECONDS)
    producer = Producer(
        {
            **settings,
            "enable.idempotence": True,
            "linger.ms": 50,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 200_000,
        }
    )
    for shape in wanted:
        for record in _copied(shape, pool, now_ms) if copy and shape.faults else _originals(shape, pool, now_ms):
            while True:
                try:
                    producer.produce(shape.topic, **record)
                    break
                except BufferError:
                    producer.poll(0.05)
        if producer.flush(_SECONDS):
            raise LabError(f"{shape.topic} was not written within {_SECONDS:.0f} s")


def _originals(shape: Shape, pool: bytes, now_ms: int) -> Iterator[dict[str, object]]:
    for number in range(shape.records):
        yield _record(shape, number, pool, now_ms)


def _record(shape: Shape, number: int, pool: bytes, now_ms: int) -> dict[str, object]:
    start = number * 61 % (_POOL_BYTES - shape.size)
    return {
        "value": number.to_bytes(8, "big") + pool[start : start + shape.size - 8],
        "key": b"key-%d" % (number % 1_000),
        "partition": number % shape.partitions,
        # Half an hour of traffic, so that all of it is in the past.
        "timestamp": now_ms - 1_900_000 + number * 1_800_000 // shape.records,
    }


def _copied(shape: Shape, pool: bytes, now_ms: int) -> Iterator[dict[str, object]]:
    """Yield the copy with its faults, evenly spread."""
    apart = shape.records // (shape.faults + 1)
    late: dict[int, dict[str, object]] = {}
    for number in range(shape.records):
        record = _record(shape, number, pool, now_ms)
        place, after = divmod(number, apart)
        kind = _KINDS[place % len(_KINDS)] if after == apart // 2 and place < shape.faults else ""
        if kind == "late":
            late[number + 7 * shape.partitions] = record
        elif kind != "lost":
            yield record | _changed(kind, shape, number)
        if kind == "twice":
            yield record
        elif kind == "strange":
            yield record | {"value": b"strange", "key": b"strange"}
        elif kind == "again":
            for back in reversed(range(_AGAIN)):
                yield _record(shape, number - back * shape.partitions, pool, now_ms)
        if number in late:
            yield late.pop(number)


def _changed(kind: str, shape: Shape, number: int) -> dict[str, object]:
    changes: dict[str, dict[str, object]] = {
        "value": {"value": b"other"},
        "key": {"key": b"other"},
        "header": {"headers": [("h", b"other")]},
        "time": {"timestamp": 1_000_000_000_000},
        "moved": {"partition": (number + 1) % shape.partitions},
    }
    return changes.get(kind, {})
