"""A flow as Connect's topics show it to an audit, compared with what Connect itself says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import Producer

from kafka_dr.clusters import KafkaCluster, NotAuthorized, NotFound, TopicPartition
from kafka_dr.replication import remembered_positions
from kafka_dr.replication.connect_positions import CommittedPositions
from kafka_dr.replication.connect_topic import ConnectTopic
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.replication.replicator import WatchedFlow
from kafka_dr.replication.watched_flow import watch_flow
from lab import rights
from support.plain_flow import PlainFlow

pytestmark = pytest.mark.kafka

_SECONDS = 60.0


def same(one: Callable[[], object], other: Callable[[], object]) -> None:
    """Wait until both say the same: a state is written a moment before or after it is shown, and so is a commit."""
    deadline = time.monotonic() + _SECONDS
    while (seen := (one(), other()))[0] != seen[1]:
        assert time.monotonic() < deadline, seen
        time.sleep(0.2)


def test_an_audit_sees_the_states_and_positions_that_connect_shows(flowing: PlainFlow) -> None:
    replicator, connect, name = flowing.replicator, flowing.connector.connect, flowing.flow.name
    declared = flowing.protection.topology.cluster("west")
    watched = watch_flow(flowing.flow, target=flowing.audit("west"), declared=declared)

    def agree() -> None:
        same(watched.status, replicator.status)
        same(watched.where, replicator.where)
        # Who asks for the first time sees what is seen by who has asked all the time.
        assert watch_flow(flowing.flow, target=flowing.audit("west"), declared=declared).where() == watched.where()

    assert watched.status().state == "absent"
    assert not watched.positions()
    replicator.ensure(stopped=True)
    replicator.wait_stopped(_SECONDS)
    one, two = flowing.partitions
    replicator.seed({one: 1}, epoch=7)
    agree()
    assert (watched.positions(), watched.where().seed_epoch) == ({one: 1}, 7)
    flowing.write(20)
    replicator.resume()
    replicator.wait_running(_SECONDS)
    flowing.wait_copied()
    agree()
    assert watched.status().state == "running"
    assert watched.positions()[two] > 0
    flowing.clients.cluster("west", "operator").transactions.take_over(replicator.transactional_ids())
    flowing.write(20)
    connect.wait_for(name, "failed", deadline_seconds=_SECONDS)
    agree()
    assert watched.status().detail, "why it failed is shown, too"
    flowing.stop()
    replicator.seed({two: 3}, epoch=8)
    agree()
    assert watched.positions() == {two: 3}, "a position that was removed is not remembered"
    connect.delete(name)
    same(lambda: watched.status().state, lambda: "absent")


def test_a_topic_that_may_not_be_read_or_is_not_there_is_named_with_what_to_do(flowing: PlainFlow) -> None:
    declared = flowing.protection.topology.cluster("west")

    def watched(principal: str, **changes: str) -> WatchedFlow:
        target = flowing.protection.cluster("west", principal)
        return watch_flow(flowing.flow, target=target, declared=declared.model_copy(update=changes))

    stranger = watched(rights.ORDERS_APP)
    for ask, topic in ((stranger.status, "connect-west-status"), (stranger.where, "connect-west-offsets")):
        right = rf"from {topic}: give its principal READ and DESCRIBE on this topic of west, or correct clusters\.west"
        with pytest.raises(NotAuthorized, match=right):
            ask()
    with pytest.raises(NotFound, match=r"use into clusters\.west\.connect_status_topic of the topology"):
        watched("admin", connect_status_topic="connect-nobody-status").status()
    with pytest.raises(NotFound, match=r"use into clusters\.west\.connect_offsets_topic of the topology"):
        watched("admin", connect_offsets_topic="connect-nobody-offsets").positions()


def write(flowing: PlainFlow, records: Mapping[str, str | None], *, abort: bool = False) -> None:
    """Write in one transaction, as exactly-once tasks of Connect do."""
    settings = flowing.protection.lab.client_settings("west", "admin")
    producer = Producer({**settings, "transactional.id": f"{flowing.protection.name}-connect"})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    for key, value in records.items():
        producer.produce(flowing.protection.topic, key=key.encode(), value=None if value is None else value.encode())
    producer.flush(_SECONDS)
    if abort:
        producer.abort_transaction(_SECONDS)
    else:
        producer.commit_transaction(_SECONDS)


def test_a_topic_of_connect_is_read_once_and_then_only_what_is_new(flowing: PlainFlow) -> None:
    def stored(admin: KafkaCluster) -> ConnectTopic:
        topic = flowing.protection.topic
        return ConnectTopic(admin, topic, keep=lambda key: key.startswith(b"own"), stall_seconds=30)

    with flowing.protection.cluster("west", "admin") as admin:
        first = stored(admin)
        assert first.newest() == {}
        write(flowing, {"own-1": "a", "own-2": "b", "own-3": "c", "another": "d"})
        same(first.newest, lambda: {b"own-1": b"a", b"own-2": b"b", b"own-3": b"c"})
        write(flowing, {"own-1": "aborted", "own-2": None}, abort=True)
        write(flowing, {"own-1": "e", "own-3": None})
        same(first.newest, lambda: {b"own-1": b"e", b"own-2": b"b"})
        assert stored(admin).newest() == first.newest()
        ends = admin.topics.high_watermarks(flowing.partitions)
        for partition, end in ends.items():
            flowing.expire("west", partition, end)
        # What is gone can only be remembered: it was not read again.
        assert first.newest() == {b"own-1": b"e", b"own-2": b"b"}
        assert stored(admin).newest() == {}
        flowing.create_again("west")
        write(flowing, {"own-9": "f"})
        same(first.newest, lambda: {b"own-9": b"f"})  # another topic of that name has other values


def test_the_positions_of_a_flow_are_found_between_those_of_others(flowing: PlainFlow) -> None:
    flow, topic = Flow("orders", "east", "west"), flowing.protection.topic

    def key(connector: str, source: str, partition: int) -> str:
        return json.dumps([connector, {"cluster": source, "partition": partition, "topic": "orders.secret-token"}])

    own = key("dr.orders.east-to-west", "east", 0)
    write(flowing, {own: '{"offset":3}', key("dr.orders.east-to-west", "east", 1): '{"offset":9}'})
    write(flowing, {own: '{"offset":4}', key("dr.orders.east-to-west", "north", 1): '{"offset":70}'})
    others = ("dr.orders.east-to-west-2", "copy-of-dr.orders.east-to-west", "dr.orders.west-to-east")
    write(flowing, {key(connector, "east", 0): '{"offset":99}' for connector in others})
    write(flowing, {'["dr.orders.east-to-west", {"file": "x"}]': '{"position":1}', "no json": "1"})
    write(flowing, {key("dr.orders.east-to-west", "east", 1): None})
    with flowing.protection.cluster("west", "admin") as admin:
        expected = {TopicPartition("orders.secret-token", 0): 5}
        same(lambda: CommittedPositions(admin, topic, flow, stall_seconds=30).read(), lambda: expected)


def test_the_canary_reads_positions_once_for_a_cluster_and_a_failover_reads_all_of_them(flowing: PlainFlow) -> None:
    protection, topic = flowing.protection, flowing.protection.topic
    flows = [Flow(protection.name, "east", "west"), Flow("another", "east", "west")]

    def position(flow: Flow, offset: int) -> dict[str, str]:
        key = json.dumps([flow.name, {"cluster": flow.source, "partition": 0, "topic": topic}])
        return {key: json.dumps({"offset": offset})}

    def seen() -> list[tuple[int | None, int | None]]:
        """Return what a failover reads and what the canary says of each flow, each asked by a process of its own."""
        with protection.clients() as clients:
            west = clients.topology.cluster("west").model_copy(update={"connect_offsets_topic": topic})
            clusters = {**clients.topology.clusters, "west": west}
            clients.topology = clients.topology.model_copy(update={"clusters": clusters})
            group, at = clients.group(protection.name), TopicPartition(topic, 0)
            asked = [MirrorMakerFlows(clients).replicator(flow, group) for flow in flows]
            return [(each.committed().get(at), each.committed(remembered=True).get(at)) for each in asked]

    write(flowing, position(flows[0], 3) | position(flows[1], 8))
    same(seen, lambda: [(4, 4), (9, 9)])
    with protection.cluster("west", "admin") as admin:
        for partition, end in admin.topics.high_watermarks(flowing.partitions).items():
            flowing.expire("west", partition, end)
    # What is gone can only be remembered: neither process has read it again, and one file serves both flows.
    assert seen() == [(None, 4), (None, 9)]
    write(flowing, position(flows[0], 5))
    same(seen, lambda: [(6, 6), (None, 9)])
    file = remembered_positions.file_of(protection.folder / "evidence", "west")
    file.path.write_bytes(b"damaged")
    assert seen() == [(6, 6), (None, None)], "a file that cannot be read is not believed: the topic is read again"
