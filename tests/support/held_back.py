"""Acknowledged records that an open transaction holds back: no flow copies them before it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import KafkaException, Producer

from lab import rights
from support.protection import Protection

_SECONDS = 20


@contextmanager
def held_back(protection: Protection, cluster: str, records: int, *, of_the_transaction: int = 1) -> Iterator[str]:
    """Open a transaction in partition 0 and write records of others after it, all acknowledged.

    :param of_the_transaction: how many records are its own
    :returns: its transactional id; it is aborted with the block
    """
    transactional_id = f"{protection.name}-sink"
    settings = protection.lab.client_settings(cluster, rights.BILLING_APP)
    producer = Producer({**settings, "transactional.id": transactional_id, "transaction.timeout.ms": 600_000})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    for _ in range(of_the_transaction):
        producer.produce(protection.topic, b"open", partition=0)
    assert producer.flush(_SECONDS) == 0
    assert protection.produce(cluster, records, partitions=1) == records
    yield transactional_id
    # A fence may have ended it.
    with suppress(KafkaException):
        producer.abort_transaction(_SECONDS)
