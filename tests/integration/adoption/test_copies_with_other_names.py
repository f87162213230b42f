"""MirrorMaker with its own DefaultReplicationPolicy is taken over under load: ``east.payments`` stays what it is.

Each record is copied once, and groups read on at the exact record, on west and back on east.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import AclOperation, OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from lab import rights
from support import outside_view
from support.existing_flow import PRINCIPAL, ExistingFlow
from support.named_group import NamedGroup, NamedProtection
from support.owned_flow import OwnedFlow, dedicated, own_copier, owned
from support.protection import Protection
from support.taking_over import TakingOver
from support.under_load import writing
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

#: What the slow group has read on east before the take over.
READ = (17, 33)


@pytest.fixture
def group(existing: ExistingFlow) -> NamedGroup:
    assert isinstance(existing.protection, NamedProtection)
    return NamedGroup(existing.protection)


def values(group: NamedGroup, cluster: str, *partitions: TopicPartition) -> Counter[bytes | None]:
    """Return how often each value is in some partitions."""
    with group.protection.cluster(cluster, "admin") as admin:
        ends = admin.topics.last_stable_offsets(partitions)
        ranges = {p: OffsetRange(0, end) for p, end in ends.items() if end}
        return Counter(record.value for record in admin.log.read(ranges))


def of(origin: str, group: NamedGroup, cluster: str) -> Counter[bytes | None]:
    """Return the values of the payments of one cluster, or of their copies."""
    named = group.local if cluster == origin else lambda number: group.copy(number, origin)
    return values(group, cluster, *map(named, range(2)))


def existing_copies(existing: ExistingFlow, count: int) -> None:
    """Let the existing replication copy some records."""
    existing.protection.produce("east", count)
    existing.wait_copied(existing.protection.topic_ends("east"))


@pytest.mark.parametrize("separator", [".", pytest.param("-", marks=pytest.mark.long)], indirect=True)
def test_a_default_policy_is_taken_over_under_load_and_the_group_moves_there_and_back(
    existing: ExistingFlow, group: NamedGroup, spark: SparkSession
) -> None:
    protection, slow = group.protection, f"{group.name}-slow"
    existing.start()
    existing_copies(existing, 200)
    read = {group.local(n): at for n, at in enumerate(READ)}
    protection.commit("east", slow, read)
    taking = TakingOver(protection, spark)
    with writing(protection) as ledger:
        with protection.clients() as clients:
            taking.take_over(clients)
        state = protection.state("east")
        assert state is not None
        assert state == protection.state("west")
        assert (state.phase, state.active, state.verb, state.copies_named) == (
            Phase.STABLE,
            "east",
            "take_over",
            protection.group.flow.separator,
        )
        assert existing.connect.status(existing.name).settled == "stopped"
        assert group.refused("west", PRINCIPAL, group.copy(0, "east"))
        assert group.refused("west", rights.PROBE, group.copy(0, "east"))
        assert group.refused("west", rights.PROBE, group.local(0))
        assert group.refused("west", rights.REPLICATOR, group.local(0))
        assert group.refused("east", rights.REPLICATOR, group.local(0))
        assert not group.refused("east", rights.PROBE, group.local(0))

        group.flows()
        eventually(lambda: list(group.flow_states()) == ["running", "running"])
        assert taking.audit() == 0, "what is below the seed was audited, and the rest is equal"
        eventually(lambda: group.copy(0, "west").topic in _topics(group, "east"))
        assert group.refused("east", rights.PROBE, group.copy(0, "west"))
        protection.commit("east", slow, {**read, **{group.copy(n, "west"): 0 for n in range(2)}})
        unread = group.unread("east", read)

        there = group.move()
        assert group.active == "west"
        moved = outside_view.committed(protection, "west")[slow]
        found = group.unread("west", moved)
        assert {group.local(n): found[group.copy(n, "east")] for n in range(2)} == unread
        assert [moved[group.local(n)] for n in range(2)] == [0, 0]
        rows = there[StepName.CUT_OVER_GROUPS].facts["groups"]
        assert {row["class"] for row in rows if row["group"] == slow} == {"exact"}

        # It reads five more of the copy, and some of what west wrote.
        later = {p: at + (5 if p.topic != protection.topic else 3) for p, at in moved.items()}
        eventually(lambda: min(protection.topic_ends("west").values()) > 5)
        protection.commit("west", slow, later)
        expected = group.unread("west", later)
        group.move()
        assert group.active == "east"
        back = outside_view.committed(protection, "east")[slow]
        assert [back[group.local(n)] for n in range(2)] == [at + 5 for at in READ]
        found = group.unread("east", back)
        assert {found[group.copy(n, "west")] for n in range(2)} == {expected[group.local(n)] for n in range(2)}

    group.wait_copied()
    for origin, elsewhere in (("east", "west"), ("west", "east")):
        assert of(origin, group, origin) == of(origin, group, elsewhere), "each record has one copy"
    written = of("east", group, "east") + of("west", group, "west")
    assert {value for value in ledger.acknowledged if written[value] != 1} == set()
    assert len(ledger.acknowledged) > 50


@pytest.mark.long
@pytest.mark.parametrize("separator", ["."], indirect=True)
@pytest.mark.parametrize("maker", [dedicated, own_copier], ids=["mirrormaker 2", "own copier"])
def test_a_process_that_names_copies_so_is_taken_over(
    protection: NamedProtection, spark: SparkSession, maker: Callable[[Protection], OwnedFlow]
) -> None:
    group, taking = NamedGroup(protection), TakingOver(protection, spark)
    with protection.cluster("west", "admin") as west:
        west.topics.create(group.copy(0, "east").topic, partitions=2, replication_factor=1, config={})
    with owned(maker(protection)) as flow:
        flow.start()
        protection.produce("east", 100)
        flow.wait_copied(protection.topic_ends("east"))
        with protection.clients() as clients:
            taking.take_over(clients)
        # What runs again cannot write: the DENY of its principal holds.
        flow.start()
        protection.produce("east", 50)
        protection.wait_copied()
        assert of("east", group, "west") == of("east", group, "east")
        group.flows()
        assert taking.audit() == 0
        group.move()
        assert group.active == "west"


@pytest.mark.parametrize("separator", ["."], indirect=True)
def test_what_copies_from_the_standby_is_refused_before_anything_is_stopped(
    existing: ExistingFlow, group: NamedGroup, spark: SparkSession
) -> None:
    protection, taking = group.protection, TakingOver(group.protection, spark)
    existing.start()
    existing_copies(existing, 40)
    other = replace(existing.right(AclOperation.WRITE), name=f"west.{group.name}.")
    with protection.cluster("east", "admin") as east:
        east.acls.add([other])
        east.topics.create(group.copy(0, "west").topic, partitions=2, replication_factor=1, config={})
        east.writing.append([NewRecord(group.copy(0, "west"), b"k", b"copied by hand")])
    assert taking.audit() == 0
    with protection.clients() as clients, pytest.raises(StepFailed) as refused:
        run_step(StepName.PREFLIGHT, taking.request(), clients)
    assert f"User:{PRINCIPAL} may write to copies of west on east" in str(refused.value)
    assert f"{group.copy(0, 'west').topic} on east hold records that other replication has copied" in str(refused.value)
    assert existing.connect.status(existing.name).settled == "running"

    with protection.cluster("east", "admin") as east:
        east.acls.remove([other])
        east.topics.delete([group.copy(0, "west").topic])
    with protection.clients() as clients:
        taking.take_over(clients)
    assert group.active == "east"


def _topics(group: NamedGroup, cluster: str) -> frozenset[str]:
    with group.protection.cluster(cluster, "admin") as admin:
        return admin.topics.names()
