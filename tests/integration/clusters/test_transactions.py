from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster, NotAuthorized, OffsetRange, TopicPartition, WriterFenced
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.fencing import open_transactions

pytestmark = pytest.mark.kafka
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


def nobody(_transactional_id: str) -> bool:
    """Declare no transactional id."""
    return False


@pytest.fixture
def transactional_id() -> str:
    return f"billing-{uuid.uuid4().hex[:8]}"


def test_an_open_transaction_is_seen_with_its_partitions_and_ended_by_taking_it_over(
    reach: Reach, topic: Topic, transactional_id: str
) -> None:
    operator, application, name = reach("dr-operator"), reach("billing-app"), topic(partitions=2)
    writer = application._session.producer({"transactional.id": transactional_id})
    writer.init_transactions(10)
    writer.begin_transaction()
    for number in range(2):
        writer.produce(name, b"open", partition=number)
    writer.flush(10)

    partitions = frozenset(TopicPartition(name, number) for number in range(2))
    (found,) = (t for t in operator.transactions.open() if t.transactional_id == transactional_id)
    assert (found.state, found.partitions) == ("Ongoing", partitions)
    assert [t.transactional_id for t in open_transactions.touching(operator, {name}, owns=nobody)] == [transactional_id]
    assert open_transactions.touching(operator, {"orders.other"}, owns=nobody) == ()
    clock = SystemClock()
    held = open_transactions.wait_until_stable(operator, partitions, clock=clock, deadline_seconds=0.2).held_back
    assert held == dict.fromkeys(partitions, (0, 1))
    left = open_transactions.wait_until_ended(operator, {name}, owns=nobody, clock=clock, grace_seconds=0.2)
    assert [t.transactional_id for t in left] == [transactional_id]

    operator.transactions.take_over([transactional_id])
    assert open_transactions.wait_until_stable(
        operator, partitions, clock=clock, deadline_seconds=10
    ).stable == dict.fromkeys(partitions, 2)
    assert open_transactions.touching(operator, {name}, owns=nobody) == ()
    with pytest.raises(KafkaException, match="fenced"):
        writer.commit_transaction(10)


def test_what_is_written_in_transactions_is_compressed(
    reach: Reach, admin: KafkaCluster, topic: Topic, transactional_id: str
) -> None:
    partition = TopicPartition(topic(), 0)
    value = b",".join(b'["orders.payments",%d,1234]' % number for number in range(20_000))
    with reach("billing-app").writing.transactions(transactional_id, known_topic=partition.topic) as writer:
        writer.write([NewRecord(partition, b"key", value)])
    assert admin.log_sizes.of([partition.topic])[partition] < len(value) / 2
    (found,) = admin.log.read({partition: OffsetRange(0, 1)})
    assert found.value == value


def test_a_writer_whose_id_was_taken_over_cannot_write(reach: Reach, admin: KafkaCluster, topic: Topic) -> None:
    partition, own = TopicPartition(topic(), 0), f"kafka-dr-register-{uuid.uuid4().hex[:8]}"
    told: list[str] = []
    admin.observe(told.append)
    with admin.writing.transactions(own) as zombie:
        zombie.write([NewRecord(partition, None, b"first")])
        reach("dr-operator").transactions.take_over([own])
        with pytest.raises(WriterFenced):
            zombie.write([NewRecord(partition, None, b"second")])
    end = admin.topics.high_watermarks([partition])[partition]
    assert [record.value for record in admin.log.read({partition: OffsetRange(0, end)})] == [b"first"]
    # These requests are counted as round trips, too.
    taken, written = f"take over the transactional id {own}", f"write as {own}"
    assert told[:3] == [taken, written, f"commit what was written as {own}"]
    assert told[-1] == "start reading"


def test_taking_over_an_id_without_the_right_is_refused_by_name(reach: Reach, transactional_id: str) -> None:
    with pytest.raises(NotAuthorized, match=f"could not take over the transactional id {transactional_id}"):
        reach("audit").transactions.take_over([transactional_id])


def test_nothing_to_take_over_is_no_error(reach: Reach) -> None:
    reach("dr-operator").transactions.take_over([])
