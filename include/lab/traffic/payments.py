"""The payments application: an idempotent producer with an outbox.

A payment leaves the outbox when its record is acknowledged. What was sent and not acknowledged is sent again, first and
in order, by the next incarnation. So nothing is ever given up, and a payment is written twice only if the outcome of an
attempt was not known. The outbox is the log itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.traffic.application import REFUSALS, Application, Ended
from lab.traffic.logbook import Event, read_back
from lab.traffic.records import headers

TOPIC = "orders.payments"
KEYS = 60
CHECKPOINT_SECONDS = 1.0
TICK_SECONDS = 0.02
MOST_UNSETTLED = 5000


@dataclass(slots=True)
class Outbox:
    """Which payments are not settled, and the number of the next one."""

    next: int = 0
    unsettled: set[int] = field(default_factory=set)

    @classmethod
    def restore(cls, events: Iterable[Event]) -> Outbox:
        """Rebuild the outbox from the end of the log; the last checkpoint must be among the events, if there is one."""
        outbox = cls()
        for event in events:
            if event["event"] == "checkpoint":
                outbox = cls(int(event["next"]), {int(each) for each in event["unsettled"]})
            elif event["event"] == "sent":
                outbox.unsettled.update(event["sequences"])
                outbox.next = max([outbox.next, *(int(each) + 1 for each in event["sequences"])])
            elif event["event"] == "acknowledged":
                outbox.unsettled.difference_update(int(row[0]) for row in event["records"])
        return outbox

    def take(self, count: int) -> list[int]:
        """Number new payments."""
        taken = list(range(self.next, self.next + count))
        self.next += count
        self.unsettled.update(taken)
        return taken


class Payments:
    """One incarnation of the application.

    :param application: what it was given
    :param per_second: how many payments come in
    """

    def __init__(self, application: Application, *, per_second: float) -> None:
        self._app = application
        self._per_second = per_second
        self._outbox = Outbox.restore(
            read_back(application.log.path, until=lambda event: event["event"] == "checkpoint")
        )
        self._acknowledged: list[tuple[int, int, int, float]] = []
        self._refused: list[int] = []
        self._failure: KafkaError | None = None
        self._producer = Producer(
            application.client(
                **{
                    "enable.idempotence": True,
                    "acks": "all",
                    "linger.ms": 20,
                    "message.timeout.ms": 10_000,
                    "partitioner": "murmur2_random",
                }
            )
        )

    def run(self) -> None:
        """Send what the last incarnation left, then new payments at their pace, until stopped.

        :raises Ended: refused, or the outcome of a record could not be learned in time
        """
        self._app.log.write("start", role="producer", cluster=self._app.access.cluster, topic=TOPIC)
        self._app.connect(self._producer, TOPIC)
        try:
            self._send(sorted(self._outbox.unsettled))
            self._work()
        finally:
            self._producer.flush(5.0 if self._failure is None else 0.5)
            self._settle()
            self._checkpoint()
        if self._failure is not None:
            raise Ended(self._failure.name())

    def _work(self) -> None:
        began, came, checkpoint = time.monotonic(), 0, time.monotonic()
        while not self._app.stopping() and self._failure is None:
            due = int((time.monotonic() - began) * self._per_second)
            if due > came and len(self._outbox.unsettled) < MOST_UNSETTLED:
                self._send(self._outbox.take(due - came))
            came = due
            self._producer.poll(TICK_SECONDS)
            self._settle()
            if time.monotonic() - checkpoint > CHECKPOINT_SECONDS:
                checkpoint = time.monotonic()
                self._checkpoint()

    def _send(self, sequences: list[int]) -> None:
        if sequences:
            self._app.log.write("sent", sequences=sequences)
        for sequence in sequences:
            try:
                self._produce(sequence)
            except KafkaException as error:  # refused already by what the client knows of the topic
                self._failure = error.args[0]
                self._note_refusal(sequence, error.args[0])
            except BufferError:  # the cluster does not take them: it stays in the outbox
                return

    def _produce(self, sequence: int) -> None:
        time_ms = int(self._app.now() * 1000)
        key = f"account-{sequence * 7919 % KEYS}".encode()
        value = json.dumps({"payment": sequence, "cents": sequence * 37 % 100_000, "note": "x" * 100}).encode()
        self._producer.produce(
            TOPIC,
            key=key,
            value=value,
            timestamp=time_ms,
            headers=headers(self._app.name, sequence, key=key, value=value, time_ms=time_ms),
            on_delivery=lambda error, message: self._delivered(sequence, error, message),
        )

    def _delivered(self, sequence: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged.append((sequence, message.partition(), message.offset(), round(self._app.now(), 6)))
        else:
            self._failure = self._failure or error
            self._note_refusal(sequence, error)

    def _note_refusal(self, sequence: int, error: KafkaError) -> None:
        """A refusal is certain only if no connection broke: else an earlier try may have been written."""
        if error.code() in REFUSALS and not self._app.disturbed:
            self._refused.append(sequence)

    def _settle(self) -> None:
        """Log what became known, then forget it."""
        if self._acknowledged:
            self._app.log.write("acknowledged", records=self._acknowledged)
            self._outbox.unsettled.difference_update(row[0] for row in self._acknowledged)
        if self._refused:
            self._app.log.write("refused", sequences=self._refused)
        self._acknowledged, self._refused = [], []

    def _checkpoint(self) -> None:
        self._app.log.write("checkpoint", next=self._outbox.next, unsettled=sorted(self._outbox.unsettled))
