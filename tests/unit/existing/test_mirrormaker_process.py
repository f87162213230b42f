"""MirrorMaker 2 as a process of its own, known by what it has committed: a cluster in memory."""

from __future__ import annotations

import json

import pytest

from kafka_dr.clusters import Record, TopicPartition
from kafka_dr.replication.existing.mirrormaker_process import MirrorMakerProcess
from kafka_dr.replication.existing.owned_process import OwnersCommands
from support.memory_cluster import MemoryCluster

TOPIC = "mm2-offsets.east.internal"
TOPICS = ("orders.payments", "stock.items")
P = TopicPartition("orders.payments", 0)


def position(topic: str, offset: int, *, alias: str = "east") -> tuple[bytes, bytes]:
    place = {"cluster": alias, "partition": 0, "topic": topic}
    return json.dumps(["MirrorSourceConnector", place]).encode(), json.dumps({"offset": offset}).encode()


def process(*committed: tuple[bytes, bytes], topic: str = TOPIC, hidden: bool = False) -> MirrorMakerProcess:
    records = [Record(TOPIC, 0, n, 0, *pair) for n, pair in enumerate(committed)]
    west = MemoryCluster("west", "id-west", {TOPIC: [records]}, hidden=(TOPIC,) if hidden else ())
    return MirrorMakerProcess(
        OwnersCommands(),
        target=west.as_kafka,
        offsets_topic=topic,
        source_alias="east",
        owns=lambda name: name.startswith("orders."),
    )


def test_one_that_copies_the_group_alone_is_fit() -> None:
    existing = process(position("orders.payments", 41))
    assert existing.unfit(TOPICS) == ()
    assert existing.positions() == {P: 42}


@pytest.mark.parametrize(
    ("existing", "said"),
    [
        (process(position("orders.payments", 41), position("stock.items", 7)), "also copies stock.items"),
        (process(topic="mm2-offsets.other"), "no topic mm2-offsets.other on west, so nobody can say which topics"),
        (process(hidden=True), f"the audit principal may not read {TOPIC} on west, so nobody can say which topics"),
        (process(), f"{TOPIC} on west holds no position of east, so nobody can say which topics"),
        (process(position("orders.payments", 41, alias="north")), "holds no position of east"),
    ],
    ids=["topics of others", "no such topic", "may not read it", "nothing committed", "another alias"],
)
def test_one_that_may_copy_topics_of_others_does_not_fit(existing: MirrorMakerProcess, said: str) -> None:
    """Its stop, or the DENY alone, ends whole tasks, and with them the replication of topics of other groups."""
    (found,) = existing.unfit(TOPICS)
    assert said in found
