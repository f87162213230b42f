"""A partition without a leader cannot be asked: it is never taken for an empty partition or a missing topic."""

from __future__ import annotations

import time
from threading import Thread, Timer

import pytest

from kafka_dr.checks.cluster_checks import leaderless
from kafka_dr.clusters import ClusterUnreachable, NotFound, TopicPartition
from support.two_brokers import TwoBrokers
from support.waiting import eventually, known_to_all

pytestmark = pytest.mark.kafka
#: A controller fences a broker after nine seconds without a heartbeat.
GONE_SECONDS = 11.0
#: The protocol's number for an election of the first of the replicas.
PREFERRED = 0


def test_a_partition_without_a_leader_has_no_high_watermark_and_no_other_answer(two_brokers: TwoBrokers) -> None:
    with two_brokers.cluster("admin", request_seconds=3.0) as known:
        known.topics.create("orders.leaders", partitions=4, replication_factor=1, config={})
        known_to_all(known, "orders.leaders")
        topic = known.topics.describe(["orders.leaders"])["orders.leaders"]
        lost = [partition for partition in topic.partitions if topic.leaders[partition.partition] == 2]
        assert known.topics.high_watermarks(lost) == dict.fromkeys(lost, 0)
        two_brokers.pause(2)
        try:
            time.sleep(GONE_SECONDS)
            with two_brokers.cluster("admin", request_seconds=3.0) as fresh:
                for cluster in (fresh, known, known):
                    with pytest.raises(
                        ClusterUnreachable, match=r"could not (read the ends of|describe) orders\.leaders"
                    ):
                        cluster.topics.high_watermarks(lost)
                assert leaderless(fresh.topics.describe(["orders.leaders"])) == ["orders.leaders"]
                with pytest.raises(NotFound):
                    fresh.topics.high_watermarks([TopicPartition("orders.none", 0)])
        finally:
            two_brokers.resume(2)
        deadline = time.monotonic() + 20
        while True:
            try:
                assert known.topics.high_watermarks(lost) == dict.fromkeys(lost, 0)
                break
            except ClusterUnreachable:
                assert time.monotonic() < deadline
                time.sleep(0.1)


def test_what_any_broker_knows_is_answered_while_one_hangs(two_brokers: TwoBrokers) -> None:
    """Each client is new, and kafka-python chooses its brokers by chance."""
    two_brokers.pause(2)
    try:
        for _client in range(8):
            with two_brokers.cluster("admin", request_seconds=5.0) as fresh:
                assert {each.broker for each in fresh.placement.brokers()[1]} == {1, 2}
                assert [each.node for each in fresh.placement.voters()] == [1]
                assert fresh.placement.being_moved() == frozenset()
    finally:
        two_brokers.resume(2)


def test_a_leader_that_does_not_know_a_new_topic_yet_is_asked_again(two_brokers: TwoBrokers) -> None:
    with two_brokers.cluster("admin") as known:
        two_brokers.pause(2)
        waking = Timer(1.0, two_brokers.resume, args=(2,))
        waking.start()
        try:
            known.topics.create("orders.new", partitions=4, replication_factor=1, config={})
            new = [TopicPartition("orders.new", number) for number in range(4)]
            assert known.topics.high_watermarks(new) == dict.fromkeys(new, 0)
        finally:
            waking.join()


def test_offsets_are_committed_while_their_coordinators_move(two_brokers: TwoBrokers) -> None:
    """A broker that has just become the leader of a group's offsets answers that it is not their coordinator yet."""
    wanted = {f"orders-moving-{number}": {TopicPartition("orders.moving", 0): number} for number in range(64)}
    with two_brokers.cluster("admin") as admin, two_brokers.cluster("dr-operator") as operator:
        admin.topics.create("orders.moving", partitions=1, replication_factor=1, config={})
        known_to_all(admin, "orders.moving")
        operator.groups.set_offsets(wanted)
        client = admin._session.python_admin
        logs = admin.topics.describe(["__consumer_offsets"])["__consumer_offsets"].partitions
        for brokers in ([1, 2], [2, 1]) * 4:
            assert not any(client.alter_partition_reassignments(dict.fromkeys(logs, brokers)).values())
            eventually(lambda: not client.list_partition_reassignments())
            moving = Thread(target=client.elect_leaders, args=(PREFERRED, list(logs)))
            moving.start()
            operator.groups.set_offsets(wanted)
            moving.join()
        assert operator.groups.offsets(wanted) == wanted
