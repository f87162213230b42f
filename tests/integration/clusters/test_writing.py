"""Single records: a writer is kept between calls, but the result of one call does not affect the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    KafkaCluster,
    NotAuthorized,
    OffsetRange,
    PatternType,
    ResourceType,
    TopicPartition,
    WriterFenced,
)
from kafka_dr.clusters.writing import NewRecord
from support.waiting import eventually

pytestmark = pytest.mark.kafka
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


@contextmanager
def denied(admin: KafkaCluster, topic: str) -> Iterator[None]:
    acl = Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:probe", AclOperation.WRITE, AclPermission.DENY)
    admin.acls.add([acl])
    yield
    admin.acls.remove([acl])


@pytest.mark.parametrize("idempotent", [False, True])
def test_records_are_read_back_at_the_returned_offsets(reach: Reach, topic: Topic, idempotent: bool) -> None:
    partition, probe = TopicPartition(topic(), 0), reach("probe")
    first = probe.writing.append([NewRecord(partition, None, b"1")], idempotent=idempotent)
    more = probe.writing.append([NewRecord(partition, None, value) for value in (b"2", b"3")], idempotent=idempotent)
    assert (first, more) == ((0,), (1, 2))
    assert [record.value for record in probe.log.read({partition: OffsetRange(0, 3)})] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_refused_writer_writes_again_once_it_is_allowed(
    reach: Reach, admin: KafkaCluster, topic: Topic, idempotent: bool
) -> None:
    partition, probe = TopicPartition(topic(), 0), reach("probe")
    record = NewRecord(partition, None, b"kept")

    def is_refused() -> bool:
        try:
            probe.writing.append([record], idempotent=idempotent)
        except NotAuthorized:
            return True
        return False

    with denied(admin, partition.topic):
        eventually(is_refused)
    eventually(lambda: not is_refused())


def test_one_reader_reads_several_topics(reach: Reach, topic: Topic) -> None:
    probe, names = reach("probe"), [topic(), topic(), topic()]
    for name in names:
        probe.writing.append([NewRecord(TopicPartition(name, 0), None, name.encode())])
    for wanted in (names[:1], names, names[1:2], names[1:]):
        ranges = {TopicPartition(name, 0): OffsetRange(0, 1) for name in wanted}
        assert sorted(record.value or b"" for record in probe.log.read(ranges)) == sorted(map(str.encode, wanted))


def test_a_writer_that_another_one_fenced_writes_nothing_to_stderr(
    admin: KafkaCluster, topic: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    """librdkafka shows that as a fatal error of its own, whatever its level: to people it is none."""
    record = NewRecord(TopicPartition(topic(), 0), b"key", b"value")
    with admin.writing.transactions("kafka-dr-test-fenced") as first:
        first.write([record])
        with admin.writing.transactions("kafka-dr-test-fenced") as second:
            second.write([record])
        with pytest.raises(WriterFenced):
            first.write([record])
    assert capfd.readouterr().err == ""
