from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    ClientSettings,
    ClusterUnreachable,
    KafkaCluster,
    NotAuthorized,
    NotFound,
    PatternType,
    ResourceType,
    TopicPartition,
    topics,
)
from kafka_dr.clusters.errors import StaleMetadata
from kafka_dr.clusters.many_partitions import ManyPartitions
from kafka_dr.clusters.topics import Topics
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import KafkaDrError
from kafka_dr.waiting import wait_until
from lab.clusters import EAST

pytestmark = pytest.mark.kafka
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


@pytest.fixture(params=["few", "many"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask in the way for few topics and partitions, and in the one for many."""
    monkeypatch.setattr(topics, "MANY", 1 if request.param == "many" else 1_000)


def test_a_cluster_shows_its_identity(reach: Reach) -> None:
    found = reach("audit").topics.identity()
    assert (found.cluster_id, found.brokers) == (EAST.cluster_id, (1,))


@pytest.mark.usefixtures("way")
def test_a_topic_is_created_once_and_grows(admin: KafkaCluster, topic: Topic) -> None:
    name = topic(retention_ms="1000")
    assert not admin.topics.create(name, partitions=1, replication_factor=1, config={})
    admin.topics.add_partitions(name, 3)
    assert name in admin.topics.names()
    assert admin.topics.configs([name])[name]["retention.ms"] == "1000"
    found = admin.topics.describe([name])[name]
    assert found.partitions == tuple(TopicPartition(name, number) for number in range(3))
    assert found.leaders == (1, 1, 1)


def test_the_partitions_of_wanted_topics_are_in_one_answer_in_order(admin: KafkaCluster, topic: Topic) -> None:
    name, other = topic(partitions=12), topic()
    # A broker learns of a new topic a moment after the controller has created it.
    wait_until(admin.topics.names, {name, other}.issubset, clock=SystemClock(), seconds=10)
    expected = tuple(TopicPartition(name, number) for number in range(12))
    assert admin.topics.partitions(lambda each: each == name) == expected
    both = admin.topics.partitions({name, other}.__contains__)
    assert both == tuple(sorted((*expected, TopicPartition(other, 0))))
    assert admin.topics.partitions(lambda each: each == "orders.none") == ()


@pytest.mark.usefixtures("way")
def test_of_several_topics_those_that_exist_and_may_be_seen_are_described(reach: Reach, topic: Topic) -> None:
    name, hidden = topic(partitions=2), f"hidden.{topic()}"
    admin = reach("admin")
    admin.topics.create(hidden, partitions=1, replication_factor=1, config={})
    assert admin.topics.existing([name, "orders.none"]) == admin.topics.describe([name])
    assert admin.topics.existing(["orders.none"]) == {} == admin.topics.existing([])
    assert admin.topics.existing([name, hidden]).keys() == {name, hidden}
    assert reach("orders-app").topics.existing([name, hidden]).keys() == {name}


def test_a_topic_is_described_alike_however_many_are_asked_for(
    admin: KafkaCluster, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One id in four has a character that librdkafka and Kafka's own tools write differently.
    names = [topic(partitions=2) for _ in range(12)]
    few = admin.topics.describe(names)
    monkeypatch.setattr(topics, "MANY", 1)
    assert admin.topics.describe(names) == few


def test_a_few_settings_of_topics_are_those_that_all_settings_say(admin: KafkaCluster, topic: Topic) -> None:
    keys = ("retention.ms", "cleanup.policy", "retention.bytes")
    names = [topic(retention_ms="1000"), topic(cleanup_policy="compact")]
    every = admin.topics.configs(names)
    assert admin.topics.settings(names, keys) == {
        name: {key: value for key, value in every[name].items() if key in keys} for name in names
    }
    assert admin.topics.settings([], keys) == {}
    with pytest.raises(NotFound, match=r"could not read cleanup\.policy, retention\.bytes, retention\.ms of topics"):
        admin.topics.settings([*names, "orders.none"], keys)


@pytest.mark.usefixtures("way")
def test_the_first_record_from_a_time_on_is_found_however_many_are_asked_for(admin: KafkaCluster, topic: Topic) -> None:
    name = topic(partitions=3)
    first, second, empty = (TopicPartition(name, number) for number in range(3))
    at = 1_700_000_000_000
    admin.writing.append([NewRecord(first, None, b"x", timestamp_ms=at + n) for n in (0, 5)])
    admin.writing.append([NewRecord(second, None, b"y", timestamp_ms=at)])
    asked = {first: at + 1, second: at + 1, empty: at}
    assert admin.offsets_by_time.at_each(asked) == {first: 1, second: None, empty: None}
    assert admin.offsets_by_time.at([first, second], at) == {first: 0, second: 0}
    assert admin.offsets_by_time.at_each({}) == {}


@pytest.mark.usefixtures("way")
def test_the_offsets_of_logs_are_the_same_however_many_are_asked_for(admin: KafkaCluster, topic: Topic) -> None:
    name, other = topic(partitions=3), topic()
    first, second, third = (TopicPartition(name, number) for number in range(3))
    wanted = [first, second, third, TopicPartition(other, 0)]
    admin.writing.append([NewRecord(first, None, b"x"), NewRecord(first, None, b"y")])
    with admin.writing.transactions(f"test-{name}") as writer:
        writer.write([NewRecord(second, None, b"z")])
    # Kafka answers a commit before it has written the marker; who takes the id over waits for that.
    admin.transactions.take_over([f"test-{name}"])
    assert admin.topics.high_watermarks(wanted) == {first: 2, second: 2, third: 0, wanted[3]: 0}
    assert admin.topics.last_stable_offsets(wanted) == {first: 2, second: 2, third: 0, wanted[3]: 0}
    assert admin.topics.log_starts(wanted) == dict.fromkeys(wanted, 0)
    assert admin.topics.log_starts([]) == {}


@pytest.mark.usefixtures("way")
def test_an_open_transaction_holds_back_the_last_stable_offset_alone(admin: KafkaCluster, topic: Topic) -> None:
    partition = TopicPartition(topic(), 0)
    producer = Producer({**admin.settings.librdkafka(), "transactional.id": f"test-{partition.topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(partition.topic, b"x", partition=0)
    producer.flush(30)
    try:
        assert admin.topics.high_watermarks([partition]) == {partition: 1}
        assert admin.topics.last_stable_offsets([partition]) == {partition: 0}
    finally:
        producer.abort_transaction(30)


@pytest.mark.usefixtures("way")
def test_a_partition_that_a_topic_does_not_have_is_never_at_0(admin: KafkaCluster, topic: Topic) -> None:
    with pytest.raises(KafkaDrError, match="could not read the ends"):
        admin.topics.high_watermarks([TopicPartition(topic(), 7)])


@pytest.mark.usefixtures("way")
def test_the_offsets_of_a_topic_that_a_principal_may_not_see_are_not_read(reach: Reach, topic: Topic) -> None:
    hidden = TopicPartition(f"hidden.{topic()}", 0)
    reach("admin").topics.create(hidden.topic, partitions=1, replication_factor=1, config={})
    with pytest.raises((NotAuthorized, NotFound)):
        reach("orders-app").topics.high_watermarks([hidden])


@pytest.mark.usefixtures("way")
def test_a_missing_topic_is_not_found(admin: KafkaCluster) -> None:
    with pytest.raises(NotFound, match=r"could not describe orders\.none"):
        admin.topics.describe(["orders.none"])
    with pytest.raises(NotFound, match=r"could not describe orders\.none"):
        admin.topics.high_watermarks([TopicPartition("orders.none", 0)])


@pytest.mark.usefixtures("way")
def test_a_leader_that_does_not_know_yet_that_it_leads_is_asked_again(
    admin: KafkaCluster, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, ask, asked = TopicPartition(topic(), 0), ManyPartitions.offsets, list[object]()

    def too_early(_self: object, *what: Any) -> dict[TopicPartition, int]:
        asked.append(what)
        raise StaleMetadata("the broker wakes up")

    def early(self: ManyPartitions, *what: Any) -> dict[TopicPartition, int]:
        return too_early(self, *what) if len(asked) < 3 else ask(self, *what)

    admin.writing.append([NewRecord(end, None, b"x")])
    monkeypatch.setattr(Topics, "_offsets_of_few", too_early)
    monkeypatch.setattr(ManyPartitions, "offsets", early)
    assert admin.topics.high_watermarks([end]) == {end: 1}
    assert len(asked) == 3


def test_a_missing_right_is_named_with_the_principal(reach: Reach, topic: Topic) -> None:
    acl = Acl(ResourceType.TOPIC, "x", PatternType.LITERAL, "User:x", AclOperation.READ, AclPermission.ALLOW)
    audit, name = reach("audit"), topic()
    with pytest.raises(NotAuthorized, match="east as audit: could not add ACLs"):
        audit.acls.add([acl])
    with pytest.raises(NotAuthorized, match="east as orders-app: could not read the ACLs"):
        reach("orders-app").acls.list()
    with pytest.raises(NotAuthorized, match=r"east as audit: could not create topic orders\.x"):
        audit.topics.create("orders.x", partitions=1, replication_factor=1, config={})
    with pytest.raises(NotAuthorized, match="east as audit: could not write"):
        audit.writing.append([NewRecord(TopicPartition(name, 0), None, b"x")], idempotent=False)


def test_acls_are_added_once_and_removed_exactly(admin: KafkaCluster) -> None:
    one, other = (
        Acl(ResourceType.TOPIC, "acl-test", pattern, "User:x", AclOperation.WRITE, AclPermission.DENY, host)
        for pattern, host in ((PatternType.LITERAL, "*"), (PatternType.PREFIXED, "10.0.0.1"))
    )
    before = admin.acls.list()
    admin.acls.add([one, other])
    admin.acls.add([one])
    assert admin.acls.list() == before | {one, other}
    admin.acls.remove([one])
    admin.acls.remove([one])
    assert admin.acls.list() == before | {other}
    admin.acls.remove([other])
    assert admin.acls.list() == before


def test_many_requests_made_while_it_connects_are_all_answered(reach: Reach, topic: Topic) -> None:
    audit, name = reach("audit"), topic()
    with ThreadPoolExecutor(16) as pool:
        answers = [pool.submit(audit.configs.describe, [name]) for _ in range(16)]
        assert all(name in answer.result(30).configs for answer in answers)


@pytest.mark.usefixtures("way")
def test_a_cluster_that_does_not_answer_is_unreachable_within_the_deadline() -> None:
    with KafkaCluster("gone", ClientSettings("127.0.0.1:9"), request_seconds=1.0) as gone:
        ends = partial(gone.topics.high_watermarks, [TopicPartition("orders", 0)])
        for ask in (
            ends,
            gone.topics.identity,
            gone.topics.names,
            gone.acls.list,
            gone.groups.names,
            gone.transactions.open,
        ):
            with pytest.raises(ClusterUnreachable, match="gone: could not"):
                ask()
