"""The billing application: reads payments and writes one invoice for each, in transactions that hold its position, too.

Every now and then it changes its mind and aborts; the payments are read again. It ends at once when it is refused and
leaves its transaction open, as a crash does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from lab.traffic.application import (
    CALL_SECONDS,
    SILENCE_SECONDS,
    Application,
    LivenessCheck,
    check,
    ended_by,
    finding,
)
from lab.traffic.logbook import Event, read_back
from lab.traffic.payments import TOPIC as PAYMENTS
from lab.traffic.records import headers, identify

TOPIC = "orders.invoices"
GROUP = "billing-settlement"
CUSTOMERS = 40
MOST_AT_ONCE = 200
GATHER_SECONDS = 0.1
ABORT_EVERY = 9


class Billing:
    """One incarnation of the application.

    :param application: what it was given
    :param reads: the topic that it settles, or a pattern
    """

    def __init__(self, application: Application, reads: str) -> None:
        self._app = application
        self._reads = reads
        last = next(iter(read_back(application.log.path, until=_is_sent)), {})
        self._sequence = int(last["sequences"][1]) + 1 if _is_sent(last) else 0
        self._transaction = int(last["transaction"]) + 1 if _is_sent(last) else 0
        self._written: list[tuple[int, int, int]] = []
        self._consumer = Consumer(
            application.client(
                **{
                    "group.id": GROUP,
                    "group.instance.id": application.name,
                    "session.timeout.ms": 6000,
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 50,  # batches, as it settles in batches anyway
                    "fetch.min.bytes": 65536,
                    **finding([reads]),
                }
            )
        )
        self._producer: Producer

    def run(self) -> None:
        """Settle payments until stopped.

        :raises Ended: refused, or a call did not come through
        """
        self._app.log.write(
            "start", role="settler", cluster=self._app.access.cluster, topic=TOPIC, input=PAYMENTS, group=GROUP
        )
        try:
            self._consumer.subscribe([self._reads])
            self._producer = self._ready_producer()
            presence = LivenessCheck(lambda: self._consumer.list_topics(timeout=SILENCE_SECONDS))
            while not self._app.stopping():
                batch = self._gather()
                presence.heard(bool(batch))
                if batch:
                    self._settle(batch)
        except KafkaException as error:
            raise ended_by(error) from error
        self._consumer.close()

    def _ready_producer(self) -> Producer:
        """Return a producer that has the transactional id."""
        producer = Producer(
            self._app.client(
                **{
                    "transactional.id": f"{GROUP}-{self._app.name}",
                    "transaction.timeout.ms": 10_000,
                    "linger.ms": 5,
                    "partitioner": "murmur2_random",
                }
            )
        )
        self._app.connect(producer, TOPIC)
        producer.init_transactions(CALL_SECONDS)
        return producer

    def _gather(self) -> list[Message]:
        batch = []
        for message in self._consumer.consume(MOST_AT_ONCE, timeout=GATHER_SECONDS):
            check(message.error())
            if message.error() is None:
                batch.append(message)
        return batch

    def _settle(self, batch: Sequence[Message]) -> None:
        """One transaction: the invoices for a batch of payments, and the group's offset after it."""
        number, self._transaction = self._transaction, self._transaction + 1
        first, self._sequence = self._sequence, self._sequence + len(batch)
        self._app.log.write(
            "sent", transaction=number, sequences=[first, self._sequence - 1], inputs=[_input(each) for each in batch]
        )
        self._written = []
        self._producer.begin_transaction()
        for sequence, payment in enumerate(batch, start=first):
            self._produce(sequence, payment)
        positions = {_place(each): (each.offset() or 0) + 1 for each in batch}
        self._producer.send_offsets_to_transaction(
            [TopicPartition(*place, offset) for place, offset in positions.items()],
            self._consumer.consumer_group_metadata(),
            CALL_SECONDS,
        )
        if number % ABORT_EVERY == ABORT_EVERY - 1:
            self._abort(number, batch)
        else:
            self._commit(number)

    def _commit(self, number: int) -> None:
        self._producer.commit_transaction(CALL_SECONDS)
        self._app.log.write("committed", transaction=number, records=self._written)

    def _abort(self, number: int, batch: Sequence[Message]) -> None:
        self._producer.flush(CALL_SECONDS)
        self._producer.abort_transaction(CALL_SECONDS)
        self._app.log.write("aborted", transaction=number)
        back: dict[tuple[str, int], int] = {}
        for each in batch:
            place, offset = _place(each), each.offset() or 0
            back[place] = min(offset, back.get(place, offset))
        for place, offset in back.items():
            self._consumer.seek(TopicPartition(*place, offset))

    def _produce(self, sequence: int, payment: Message) -> None:
        time_ms = int(self._app.now() * 1000)
        key = f"customer-{sequence % CUSTOMERS}".encode()
        value = json.dumps({"invoice": sequence, "for": [payment.partition(), payment.offset()]}).encode()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self._written.append((sequence, message.partition() or 0, message.offset() or 0))

        self._producer.produce(
            TOPIC,
            key=key,
            value=value,
            timestamp=time_ms,
            headers=headers(self._app.name, sequence, key=key, value=value, time_ms=time_ms),
            on_delivery=delivered,
        )


def _is_sent(event: Event) -> bool:
    return event.get("event") == "sent"


def _place(payment: Message) -> tuple[str, int]:
    return payment.topic() or "", payment.partition() or 0


def _input(payment: Message) -> tuple[int, int, str | None, int, str]:
    who = identify(payment.headers())
    topic, number = _place(payment)
    return (
        number,
        payment.offset() or 0,
        who.application if who else None,
        who.sequence if who else -1,
        topic,
    )
