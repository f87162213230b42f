"""A target under the names of its source: the same for every naming, in memory and on a real cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import ClientSettings, GroupState, KafkaCluster, NotFound, OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import RenamedCluster
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.naming import AffixNaming, DefaultNaming, IdentityNaming, Naming, TableNaming
from kafka_dr.waiting import wait_until
from support.memory_cluster import MemoryCluster, numbered

if TYPE_CHECKING:
    from lab.api import Lab

RECORDS, GROUP = 5, "ledger"


@dataclass(frozen=True)
class Copied:
    """A copy with two partitions, the first of which holds records, and a group that has read two of them.

    :param topic: on the source; no other test uses the name
    :param cluster: that holds the copy
    """

    topic: str
    target: RenamedCluster
    group: str
    cluster: KafkaCluster

    @property
    def first(self) -> TopicPartition:
        return TopicPartition(self.topic, 0)

    @property
    def both(self) -> list[TopicPartition]:
        return [TopicPartition(self.topic, n) for n in range(2)]


def naming_of(kind: str, topic: str) -> Naming:
    namings: dict[str, Naming] = {
        "identity": IdentityNaming("east", "west"),
        "default": DefaultNaming("east", "west"),
        "affix": AffixNaming("from-", ".copy"),
        "table": TableNaming({topic: f"other.{topic[-8:]}"}),
    }
    return namings[kind]


def in_memory(topic: str, naming: Naming) -> KafkaCluster:
    own = naming.copy_of(topic)
    assert own is not None
    made = MemoryCluster(
        "west",
        "id",
        {own: [numbered(own, range(RECORDS)), []], "__own": [[]]},
        {GROUP: {TopicPartition(own, 0): 2, TopicPartition("__own", 0): 1}},
    )
    return made.as_kafka


def real(lab: Lab, topic: str, naming: Naming, group: str) -> KafkaCluster:
    from kafka_dr.clock import SystemClock
    from kafka_dr.clusters import ClusterUnreachable

    own = naming.copy_of(topic)
    assert own is not None
    cluster = KafkaCluster("west", ClientSettings.from_librdkafka(lab.client_settings("west", "admin")))
    cluster.topics.create(own, partitions=2, replication_factor=1, config={})
    cluster.writing.append(
        NewRecord(TopicPartition(own, 0), b"k%d" % n, b"v%d" % n, (), each.timestamp_ms)
        for n, each in enumerate(numbered(own, range(RECORDS), first_ms=_FIRST_MS))
    )
    wait_until(
        lambda: cluster.groups.set_offsets({group: {TopicPartition(own, 0): 2}}),
        lambda _: True,
        clock=SystemClock(),
        seconds=30,
        retry=ClusterUnreachable,
    )
    return cluster


#: Old records would be deleted at once.
_FIRST_MS = int(time.time() * 1000) - 60_000


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.kafka)])
def copied(request: pytest.FixtureRequest, naming: str) -> Iterator[Copied]:
    topic = f"invoices.{uuid.uuid4().hex[:8]}"
    rule = naming_of(naming, topic)
    if request.param == "memory":
        made = in_memory(topic, rule)
        yield Copied(topic, RenamedCluster(made, rule), GROUP, made)
        return
    group = f"{GROUP}-{topic}"
    with real(request.getfixturevalue("lab"), topic, rule, group) as cluster:
        yield Copied(topic, RenamedCluster(cluster, rule), group, cluster)


@pytest.mark.parametrize("naming", ["identity", "default", "affix", "table"])
def test_whatever_is_asked_is_asked_and_answered_under_the_names_of_the_source(copied: Copied) -> None:
    topic, target, first = copied.topic, copied.target, copied.first

    assert topic in target.topics.names()
    assert not any(name.startswith("__") for name in target.topics.names())
    described = target.topics.describe([topic])
    assert (described[topic].name, list(described[topic].partitions)) == (topic, copied.both)
    assert target.topics.log_starts(copied.both) == dict.fromkeys(copied.both, 0)
    ends = {first: RECORDS, copied.both[1]: 0}
    assert target.topics.high_watermarks(copied.both) == target.topics.last_stable_offsets(copied.both) == ends
    read = list(target.log.read({first: OffsetRange(1, RECORDS)}))
    assert [(each.topic, each.offset, each.value) for each in read] == [(topic, n, b"v%d" % n) for n in range(1, 5)]
    assert target.offsets_by_time.at([first], read[1].timestamp_ms) == {first: 2}

    layout = target.configs.overview().topics[topic]
    assert (layout.name, layout.partitions) == (topic, 2)
    settings = target.configs.describe([topic])
    assert (set(settings.configs), settings.errors) == ({topic}, {})
    assert target.group_reading.committed([copied.group]) == {copied.group: {first: 2}}

    (listed,) = (each for each in copied.cluster.group_kinds.listed() if each.group == copied.group)
    assert listed.kind == "consumer"
    state = copied.cluster.group_reading.states([copied.group])[copied.group]
    assert isinstance(state, GroupState)
    assert (state.state, state.members, state.assignor) == ("EMPTY", (), "")


@pytest.mark.parametrize("naming", ["identity", "default", "affix", "table"])
def test_a_copy_that_is_not_there_is_not_found(copied: Copied) -> None:
    missing = f"{copied.topic}-2"
    assert missing not in copied.target.topics.names()
    with pytest.raises(NotFound):
        copied.target.topics.describe([missing])


def test_what_is_never_copied_is_not_found_and_no_topic_of_the_same_name_is_read() -> None:
    naming = TableNaming({"invoices": "other"})
    target = RenamedCluster(in_memory("invoices", naming), naming)
    for ask in (
        lambda: target.topics.describe(["__own"]),
        lambda: target.topics.log_starts([TopicPartition("__own", 0)]),
        lambda: list(target.log.read({TopicPartition("__own", 0): OffsetRange(0, 1)})),
        lambda: target.configs.describe(["__own"]),
    ):
        with pytest.raises(NotFound, match="__own has no copy: it is never copied under the naming of this flow"):
            ask()
