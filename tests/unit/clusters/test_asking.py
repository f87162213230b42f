"""What a leader's error code says about the right to write; what the question is made of."""

from __future__ import annotations

import struct

import pytest
from confluent_kafka import KafkaError
from kafka.record.default_records import DefaultRecordBatchBuilder as Batch
from kafka.record.util import calc_crc32c

from kafka_dr.clusters import TopicPartition, WriteVerdict
from kafka_dr.clusters.asking import _answer, question

PARTITION = TopicPartition("orders.payments", 0)


@pytest.mark.parametrize(
    ("code", "verdict", "detail"),
    [
        (2, "allowed", "CORRUPT_MESSAGE"),
        (29, "refused", "TOPIC_AUTHORIZATION_FAILED"),
        (KafkaError.NOT_ENOUGH_REPLICAS, "unable", "NOT_ENOUGH_REPLICAS"),
        (KafkaError.NO_ERROR, "allowed", "the leader says that it took a broken record, which no broker does"),
    ],
)
def test_a_leader_that_says_yes_or_no(code: int, verdict: WriteVerdict, detail: str) -> None:
    answer = _answer(PARTITION, code)
    assert answer is not None
    assert (answer.partition, answer.verdict, answer.detail) == (PARTITION, verdict, detail)


@pytest.mark.parametrize("code", [3, 5, 6, 7, 13, 56, 74, 75, 100])
def test_a_leader_that_moved_is_looked_up_again_and_not_asked_by_a_megabyte(code: int) -> None:
    answer = _answer(PARTITION, code)
    assert answer is not None
    assert answer.verdict == "unknown"


@pytest.mark.parametrize("code", [-1, 10, 35, 42, 43, 76, 87])
def test_any_other_answer_has_the_second_question_put(code: int) -> None:
    assert _answer(PARTITION, code) is None


def test_the_question_is_a_batch_of_69_bytes_whose_crc_does_not_fit() -> None:
    batch = question()
    (stored,) = struct.unpack_from(">I", batch, Batch.CRC_OFFSET)
    assert len(batch) == 69
    assert stored != calc_crc32c(memoryview(batch)[Batch.ATTRIBUTES_OFFSET :])
