"""Nothing expires on a returned cluster before it is kept: on real brokers, with a cleaner that has work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from integration.health.conftest import RUN, GivenUp, look, said

from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    KafkaCluster,
    OffsetRange,
    PatternType,
    ResourceType,
    TopicPartition,
)
from kafka_dr.clusters.configuration import ConfigValue, Origin
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.register import Phase
from kafka_dr.runs.retention_hold import RETENTION_HOLD
from lab import rights
from support.cleaner import a_quick_cleaner
from support.protection import Protection
from support.switched_group import SwitchedGroup
from support.waiting import eventually

pytestmark = pytest.mark.kafka
_DIRTY = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}


def test_compaction_and_retention_are_off_as_soon_as_the_old_cluster_is_fenced(protection: Protection) -> None:
    keyed, other = f"{protection.name}.keyed", f"other-{protection.name}"
    with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
        for cluster in (east, west):
            cluster.topics.create(keyed, partitions=1, replication_factor=1, config=_DIRTY)
        east.topics.create(other, partitions=1, replication_factor=1, config=_DIRTY)
        given_up = GivenUp.give_up(SwitchedGroup.adopt(protection, records=40))
        assert not east.configs.set({protection.topic: {"retention.ms": "86400000"}})

        watched = look(protection)

        assert watched.facts["phase"] == Phase.DIVERGED, said(watched)
        configs = east.configs.describe([keyed, protection.topic]).configs
        assert configs[protection.topic]["retention.ms"] == ConfigValue("-1", Origin.TOPIC)
        assert configs[keyed]["min.compaction.lag.ms"].value == str(2**63 - 1)
        with protection.clients() as clients:
            facts = [clients.register(name).facts(protection.name, given_up.state.run) for name in ("west", "east")]
        assert facts[0][f"{RETENTION_HOLD}.east"] == facts[1][f"{RETENTION_HOLD}.east"]
        for topic in (keyed, other):
            _supersede(east, topic)
        with a_quick_cleaner(protection, "east"):
            eventually(lambda: len(_held(east, other)) < 60)
            assert len(_held(east, keyed)) == 60
        again = look(protection)
        assert again.facts["phase"] == Phase.DIVERGED
        with protection.clients() as clients:
            assert (
                clients.register("west").facts(protection.name, RUN)[f"{RETENTION_HOLD}.east"]
                == facts[0][f"{RETENTION_HOLD}.east"]
            )


def test_a_cluster_that_refuses_the_hold_is_fenced_and_counted_all_the_same(protection: Protection) -> None:
    GivenUp.give_up(SwitchedGroup.adopt(protection, records=10))
    with _no_change_of_topics(protection):
        watched = look(protection)
    assert watched.facts["phase"] == Phase.DIVERGED
    assert protection.refuses_writes("east")
    assert "what only east holds may expire before it is kept" in said(watched), said(watched)
    assert "retention" not in said(look(protection))


def _supersede(cluster: KafkaCluster, topic: str) -> None:
    """Write one key again and again, in segments that are closed."""
    for batch in range(3):
        values = [f"{batch}-{number}".encode() for number in range(20)]
        cluster.writing.append([NewRecord(TopicPartition(topic, 0), b"key", value) for value in values])
        time.sleep(0.3)


def _held(cluster: KafkaCluster, topic: str) -> list[bytes | None]:
    partition = TopicPartition(topic, 0)
    start, end = cluster.topics.log_starts([partition]), cluster.topics.last_stable_offsets([partition])
    return [each.value for each in cluster.log.read({partition: OffsetRange(start[partition], end[partition])})]


@contextmanager
def _no_change_of_topics(protection: Protection) -> Iterator[None]:
    denied = Acl(
        ResourceType.TOPIC,
        f"{protection.name}.",
        PatternType.PREFIXED,
        f"User:{rights.OPERATOR}",
        AclOperation.ALTER_CONFIGS,
        AclPermission.DENY,
    )
    with protection.cluster("east", "admin") as admin:
        admin.acls.add([denied])
        try:
            yield
        finally:
            admin.acls.remove([denied])
