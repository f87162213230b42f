"""What is known of a transaction whose commit ends in an error. No broker gives these errors when it is asked to."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_dr.clusters import TopicPartition, WriterFenced
from kafka_dr.clusters.errors import ClusterError, translated
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import KafkaDrError, OutcomeUnknown

RECORD = NewRecord(TopicPartition("_kafka_dr.register", 0), b"orders", b"{}")


class _Producer:
    """Ends each commit in one error."""

    def __init__(self, error: KafkaError) -> None:
        self.error = error
        self.aborted = 0

    def begin_transaction(self) -> None: ...

    def produce(self, *_: Any, **__: Any) -> None: ...

    def poll(self, _seconds: float) -> None: ...

    def flush(self, _seconds: float) -> int:
        return 0

    def commit_transaction(self, _seconds: float) -> None:
        raise KafkaException(self.error)

    def abort_transaction(self, _seconds: float) -> None:
        self.aborted += 1


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        # A broker that wakes up may fail while it commits, and does not say what it has done.
        (KafkaError.UNKNOWN, OutcomeUnknown),
        (KafkaError.MSG_SIZE_TOO_LARGE, ClusterError),
        (KafkaError.PRODUCER_FENCED, WriterFenced),
    ],
)
def test_a_commit_that_the_broker_failed_in_is_aborted_and_read_before_anything_else(
    code: int, raised: type[KafkaDrError]
) -> None:
    producer = _Producer(KafkaError(code, "no", False, False, True))  # the transaction must be aborted
    session: Any = SimpleNamespace(
        label="west",
        request_seconds=0.1,
        observed=lambda _doing: nullcontext(),
        translated=lambda doing: translated("west", doing),
    )
    writer = TransactionalWriter(session, producer, "kafka-dr-register-orders")

    with pytest.raises(raised) as error:
        writer.write([RECORD])

    assert type(error.value) is raised
    assert producer.aborted == 1
