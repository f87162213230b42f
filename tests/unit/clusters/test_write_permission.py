"""What a leader's error code means for the right to write, and what the test write contains."""

from __future__ import annotations

import struct

import pytest
from confluent_kafka import KafkaError
from kafka.record.default_records import DefaultRecordBatchBuilder as Batch
from kafka.record.util import calc_crc32c

from kafka_dr.clusters import TopicPartition, WriteVerdict
from kafka_dr.clusters.write_permission import _answer, _request, invalid_batch

PARTITION = TopicPartition("orders.payments", 0)


@pytest.mark.parametrize(
    ("code", "verdict", "detail"),
    [
        (2, "allowed", "it would accept a write"),
        (29, "refused", "topic authorization failed"),
        (KafkaError.NOT_ENOUGH_REPLICAS, "unable", "not enough in-sync replicas"),
        (KafkaError.NO_ERROR, "allowed", "the leader accepted an invalid record, which no broker should do"),
    ],
)
def test_error_codes_that_allow_or_refuse_a_write(code: int, verdict: WriteVerdict, detail: str) -> None:
    answer = _answer(PARTITION, code)
    assert answer is not None
    assert (answer.partition, answer.verdict, answer.detail) == (PARTITION, verdict, detail)


@pytest.mark.parametrize("code", [3, 5, 6, 7, 13, 56, 74, 75, 100])
def test_a_leader_that_moved_is_looked_up_again_and_not_asked_with_a_large_record(code: int) -> None:
    answer = _answer(PARTITION, code)
    assert answer is not None
    assert answer.verdict == "unknown"


@pytest.mark.parametrize("code", [-1, 10, 35, 42, 43, 76, 87])
def test_any_other_answer_is_asked_again_with_a_large_record(code: int) -> None:
    assert _answer(PARTITION, code) is None


def test_the_test_write_is_a_batch_of_69_bytes_with_a_wrong_crc() -> None:
    batch = invalid_batch()
    (stored,) = struct.unpack_from(">I", batch, Batch.CRC_OFFSET)
    assert len(batch) == 69
    assert stored != calc_crc32c(memoryview(batch)[Batch.ATTRIBUTES_OFFSET :])


def test_to_ask_about_a_partition_costs_less_than_a_hundred_bytes() -> None:
    """``dr_health`` asks about each partition every minute: a record that is too large would cost a megabyte each."""
    every = [TopicPartition(f"orders.payments-{topic:04d}", number) for topic in range(800) for number in range(3)]
    assert len(_request(every, timeout_ms=10_000).encode(version=12)) < 100 * len(every)
