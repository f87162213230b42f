"""Applications that keep writing during a disaster, and what was acknowledged to them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer


@dataclass(slots=True)
class Ledger:
    """What applications know: by value, which cluster acknowledged it when, and how many attempts had no answer.

    :param void: values of transactions that were aborted, and whose abort was acknowledged
    """

    acknowledged: dict[bytes, tuple[str, float]] = field(default_factory=dict)
    attempts: Counter[bytes] = field(default_factory=Counter)
    void: set[bytes] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)


class _Application(Thread):
    """An application that writes to a given cluster until it is stopped.

    :param cluster_now: the cluster to write to, asked before each batch
    :param settings: how to reach each cluster, in librdkafka's names
    """

    def __init__(
        self, name: str, ledger: Ledger, topic: str, *, cluster_now: Callable[[], str], settings: Mapping[str, Any]
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._ledger, self._topic, self._cluster_now, self._settings = ledger, topic, cluster_now, settings
        self._over = Event()
        self._next = 0

    def stop(self) -> None:
        """Write no more, and wait until the last batch is decided."""
        self._over.set()
        self.join(30)
        assert not self.is_alive(), f"{self.name} does not end"


class WritingApplication(_Application):
    """An application that writes numbered values, each until it is acknowledged."""

    def run(self) -> None:
        """Write until stopped."""
        left: list[bytes] = []
        producer, at = None, ""
        while not self._over.is_set():
            if producer is None or at != self._cluster_now():
                at = self._cluster_now()
                producer = Producer({**self._settings[at], "enable.idempotence": True, "message.timeout.ms": 2000})
            batch = left or [f"{self.name}-{self._next + n}".encode() for n in range(5)]
            self._next += 0 if left else len(batch)
            left = self._write(producer, at, batch)
            producer = None if left else producer
            self._over.wait(0.2 if left else 0.03)

    def _write(self, producer: Producer, at: str, batch: list[bytes]) -> list[bytes]:
        """Write a batch and return what was not acknowledged."""
        told: set[bytes] = set()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                told.add(message.value())
                with self._ledger.lock:
                    self._ledger.acknowledged[message.value()] = (at, time.time())

        for value in batch:
            try:
                producer.produce(self._topic, value=value, key=value[-1:], on_delivery=delivered)
            except KafkaException:
                break
        producer.flush(4)
        left = [value for value in batch if value not in told]
        with self._ledger.lock:
            self._ledger.attempts.update(left)
        return left


class TransactionalApplication(_Application):
    """An application that writes in transactions over all partitions, and aborts every fourth.

    A transaction whose end it does not know may be there or not, and is not written again.
    """

    def run(self) -> None:
        """Write until stopped."""
        producer, at = None, ""
        while not self._over.is_set():
            try:
                if producer is None or at != self._cluster_now():
                    at = self._cluster_now()
                    producer = self._producer(at)
                self._transact(producer, at)
            except KafkaException:
                producer = None
            self._over.wait(0.2 if producer is None else 0.05)

    def _producer(self, at: str) -> Producer:
        """Return a producer that has ended the open transaction of the one before it."""
        group, _, _ = self._topic.partition(".")
        times = {"transaction.timeout.ms": 5000, "message.timeout.ms": 2000}
        producer = Producer({**self._settings[at], **times, "transactional.id": f"{group}-{self.name}"})
        producer.init_transactions(4)
        return producer

    def _transact(self, producer: Producer, at: str) -> None:
        self._next += 1
        values = [f"{self.name}-{self._next}-{part}".encode() for part in range(4)]
        producer.begin_transaction()
        for value in values:
            producer.produce(self._topic, value=value, key=value[-1:])
        if self._next % 4:
            producer.commit_transaction(4)
            with self._ledger.lock:
                self._ledger.acknowledged |= dict.fromkeys(values, (at, time.time()))
        else:
            producer.flush(4)
            producer.abort_transaction(4)
            with self._ledger.lock:
                self._ledger.void.update(values)
