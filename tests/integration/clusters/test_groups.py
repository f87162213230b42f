from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    GroupNotEmpty,
    KafkaCluster,
    NotAuthorized,
    PatternType,
    ResourceType,
    TopicPartition,
)
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import TryAgain
from kafka_dr.positions import CommittedOffset, metadata_of
from support.waiting import eventually

pytestmark = pytest.mark.kafka
Reach = Callable[..., KafkaCluster]
Topic = Callable[..., str]


@pytest.fixture
def group() -> str:
    return f"orders-g{uuid.uuid4().hex[:8]}"


def test_offsets_of_many_groups_read_back_as_they_were_set(reach: Reach, topic: Topic, group: str) -> None:
    operator, name = reach("dr-operator"), topic(partitions=2)
    wanted = {f"{group}-{n}": {TopicPartition(name, 0): n, TopicPartition(name, 1): 0} for n in range(3)}
    operator.groups.set_offsets(wanted)
    assert operator.groups.offsets(wanted) == wanted
    assert set(wanted) <= operator.groups.names()


@pytest.mark.parametrize("text", ["note", "ü€", "bits\0", "x" * 4096])
def test_commit_metadata_is_set_byte_by_byte_without_a_leader_epoch(
    reach: Reach, topic: Topic, group: str, text: str
) -> None:
    operator, name = reach("dr-operator"), topic(partitions=2)
    one, two = (TopicPartition(name, number) for number in range(2))
    operator.groups.set_offsets({group: {one: CommittedOffset(3, text), two: 1}})
    found = operator.groups.offsets([group])[group]
    assert {p: (offset, metadata_of(offset)) for p, offset in found.items()} == {one: (3, text), two: (1, "")}
    # Not asked of confluent-kafka: its Python client reads on until a NUL, beyond the text.
    seen = operator._session.python_admin.list_group_offsets({group: None})[group]
    assert {(p.partition, row.offset, row.metadata, row.leader_epoch) for p, row in seen.items()} == {
        (0, 3, text, -1),
        (1, 1, "", -1),
    }
    operator.groups.set_offsets({group: {one: 4, two: 1}})
    assert not metadata_of(operator.groups.offsets([group])[group][one]), "an offset without one takes it back"


def test_a_group_that_never_committed_has_no_offsets_and_is_dead(reach: Reach, group: str) -> None:
    operator = reach("dr-operator")
    assert operator.groups.offsets([group]) == {group: {}}
    assert operator.groups.states([group])[group].state == "DEAD"
    assert operator.groups.offsets([]) == {}
    assert operator.groups.states([]) == {}


def test_offsets_of_a_group_with_a_live_member_cannot_be_set(reach: Reach, topic: Topic, group: str) -> None:
    operator, name = reach("dr-operator"), topic()
    member = Consumer({**reach("orders-app").settings.librdkafka(), "group.id": group})
    member.subscribe([name])
    try:
        deadline = time.monotonic() + 20
        while not member.assignment():
            assert time.monotonic() < deadline
            member.poll(0.1)
        state = operator.groups.states([group])[group]
        assert (state.state, len(state.members)) == ("STABLE", 1)
        with pytest.raises(GroupNotEmpty, match=f"set the offsets of group {group}"):
            operator.groups.set_offsets({group: {TopicPartition(name, 0): 0}})
    finally:
        member.close()


@contextmanager
def offsets_in_a_transaction(admin: KafkaCluster, name: str, group: str) -> Iterator[Any]:
    """Commit offset 1 in a transaction that stays open; offset 0 was committed before."""
    admin.writing.append([NewRecord(TopicPartition(name, 0), None, b"0")])
    admin.groups.set_offsets({group: {TopicPartition(name, 0): 0}})
    producer = admin._session.producer({"transactional.id": f"t-{group}"})
    producer.init_transactions(10)
    producer.begin_transaction()
    consumer = admin._session.consumer({"group.id": group})
    producer.send_offsets_to_transaction([ClientPartition(name, 0, 1)], consumer.consumer_group_metadata(), 10)
    yield producer
    admin.transactions.take_over([f"t-{group}"])
    consumer.close()


def test_offsets_in_an_open_transaction_are_waited_for(
    reach: Reach, admin: KafkaCluster, topic: Topic, group: str
) -> None:
    name = topic()
    with offsets_in_a_transaction(admin, name, group) as producer:
        threading.Timer(1.0, producer.commit_transaction, [10]).start()
        assert reach("dr-operator").groups.offsets([group]) == {group: {TopicPartition(name, 0): 1}}


def test_offsets_of_a_transaction_that_does_not_end_are_unknown_and_never_none(
    reach: Reach, admin: KafkaCluster, topic: Topic, group: str
) -> None:
    name, operator = topic(), reach("dr-operator", request_seconds=1.0)
    with offsets_in_a_transaction(admin, name, group):
        with pytest.raises(TryAgain, match=f"an open transaction contains offsets of {name}-0; end it"):
            operator.groups.offsets([group])
        assert operator.groups.offsets([group], require_stable=False) == {group: {TopicPartition(name, 0): 0}}


def test_many_groups_of_both_protocols_are_described_in_a_few_requests(reach: Reach, topic: Topic, group: str) -> None:
    operator, name = reach("dr-operator"), topic()
    many = [f"{group}-{number}" for number in range(20)]
    operator.groups.set_offsets({each: {TopicPartition(name, 0): 0} for each in many})
    member = Consumer(
        {**reach("orders-app").settings.librdkafka(), "group.id": f"{group}-newer", "group.protocol": "consumer"}
    )
    member.subscribe([name])
    try:
        deadline = time.monotonic() + 20
        while not member.assignment():
            assert time.monotonic() < deadline
            member.poll(0.1)
        asked: list[str] = []
        operator.observe(asked.append)
        found = operator.groups.states([*many, f"{group}-newer", f"{group}-none"])
    finally:
        member.close()
    assert {found[each].state for each in many} == {"EMPTY"}
    assert all(AclOperation.READ in state.authorized_operations for state in found.values())
    newer = found[f"{group}-newer"]
    assert (newer.state, len(newer.members), newer.assigned) == ("STABLE", 1, frozenset({name}))
    assert found[f"{group}-none"].state == "DEAD"
    # The coordinators are looked up once, and each of them is asked at most once for each protocol.
    assert len(asked) <= 1 + 3 * len(operator.topics.identity().brokers)


def test_the_asking_principal_learns_what_it_may_do_with_a_group(reach: Reach, group: str) -> None:
    operations = reach("probe").groups.states([group])[group].authorized_operations
    assert AclOperation.READ in operations
    assert AclOperation.DELETE not in operations


def test_a_coordinator_says_whether_a_principal_may_read_and_nothing_of_the_group_changes(
    reach: Reach, admin: KafkaCluster, group: str, topic: Topic
) -> None:
    operator, application, name = reach("dr-operator"), reach("orders-app"), topic()
    operator.groups.set_offsets({group: {TopicPartition(name, 0): 7}})
    before = admin.groups.states([group])[group], operator.groups.offsets([group])

    def asked(cluster: KafkaCluster, *groups: str) -> set[str]:
        return set(cluster.read_permission.ask(groups, seen_by=operator.group_coordinators).values())

    assert asked(application, group, f"{group}-none") == {"allowed"}
    assert asked(reach("billing-app"), group) == {"refused"}, "nothing allows it"
    deny = Acl(ResourceType.GROUP, group, PatternType.LITERAL, "User:orders-app", AclOperation.READ, AclPermission.DENY)
    admin.acls.add([deny])
    try:
        eventually(lambda: asked(application, group) == {"refused"})
    finally:
        admin.acls.remove([deny])
    assert (admin.groups.states([group])[group], operator.groups.offsets([group])) == before


def test_a_group_that_the_principal_has_no_right_on_is_refused_by_name(reach: Reach, topic: Topic) -> None:
    with pytest.raises(NotAuthorized, match="east as probe: could not find the coordinator of group carts-g"):
        reach("probe").groups.states(["carts-g"])
    with pytest.raises(NotAuthorized, match="could not set the offsets of group carts-g"):
        reach("dr-operator").groups.set_offsets({"carts-g": {TopicPartition(topic(), 0): 0}})
