"""Writers with acks=all and idempotence, one for each partition, and their own log of what was acknowledged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

from confluent_kafka import KafkaError, Message, Producer

from lab.traffic.logbook import Logbook

#: Of each writer, in records a second.
RATE = 10.0
FLUSH_SECONDS = 60.0

Partition = tuple[str, int]


@dataclass(slots=True)
class PartitionWriter:
    """Writes numbered records to one partition, until it is stopped.

    :param acknowledged: the number of each acknowledged record, and when that was, on the monotonic clock
    """

    partition: Partition
    settings: Mapping[str, str]
    log: Logbook
    acknowledged: dict[int, float] = field(default_factory=dict)
    sent: int = 0
    _end: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def start(self) -> None:
        """Begin, in the background."""
        self._thread = Thread(target=self._write, name=f"writer of {self.partition}", daemon=True)
        self._thread.start()

    def ask_to_end(self) -> None:
        """Let it write nothing new."""
        self._end.set()

    def wait(self) -> None:
        """Wait until what it sent is answered, or given up."""
        if self._thread is not None:
            self._thread.join(FLUSH_SECONDS + 10)

    def longest_gap(self, since: float, until: float) -> float:
        """Return the longest time without an acknowledgement, in seconds."""
        times = [since, *sorted(at for at in self.acknowledged.values() if since < at < until), until]
        return max(after - before for before, after in pairwise(times))

    def acknowledged_in(self, since: float, until: float) -> int:
        """Return how many records were acknowledged in a time."""
        return sum(since < at < until for at in self.acknowledged.values())

    def _write(self) -> None:
        fixed = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "delivery.timeout.ms": 120_000}
        producer = Producer({**self.settings, **fixed, "log_level": 0, "client.id": "writer"})
        topic, number = self.partition
        began = time.monotonic()
        while not self._end.is_set():
            try:
                producer.produce(topic, b"%d" % self.sent, partition=number, on_delivery=self._delivered(self.sent))
                self.sent += 1
            except BufferError:
                producer.poll(0.1)  # its queue is full: the answers are missing
            while (left := began + self.sent / RATE - time.monotonic()) > 0:
                producer.poll(left)  # it returns as soon as it has an answer
        producer.flush(FLUSH_SECONDS)

    def _delivered(self, record: int) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, _message: Message) -> None:
            if error is None:
                self.acknowledged[record] = time.monotonic()
                self.log.write("acknowledged", topic=self.partition[0], partition=self.partition[1], record=record)

        return note


@dataclass(slots=True)
class Writers:
    """All writers."""

    each: dict[Partition, PartitionWriter]

    @classmethod
    def of(cls, partitions: Iterable[Partition], settings: Mapping[str, str], log: Path) -> Writers:
        """Make them; none writes yet."""
        book = Logbook(log, now=time.time)
        return cls({partition: PartitionWriter(partition, settings, book) for partition in partitions})

    def start(self) -> None:
        """Begin."""
        for writer in self.each.values():
            writer.start()

    def stop(self) -> None:
        """End all; what was sent is still answered."""
        for writer in self.each.values():
            writer.ask_to_end()
        for writer in self.each.values():
            writer.wait()
