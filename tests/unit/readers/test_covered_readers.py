"""Every group that is more than its offsets is recognised by what the principal may see; what it may not is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.readers.covered import CoveredReaders, covered_readers, reader_of
from support.memory_cluster import MemoryCluster

SHARE = ListedGroup("workers", "share", "share share")
STREAMS = ListedGroup("totals", "streams", "streams streams")
CONNECT = ListedGroup("connect-cluster", "other", "classic connect")
STRANGE = ListedGroup("strange", "other", "classic gossip")
CLUSTER = MemoryCluster(
    "berlin",
    "B",
    {"orders": [[]], "counts-words-changelog": [[]], "totals-sums-repartition": [[]]},
    {"ledger": {}, "counts": {}, "joined": {}, "connect-lake": {}, "lake": {}},
    kinds={each.group: each for each in (SHARE, STREAMS, CONNECT, STRANGE)},
    members={
        "joined": ("stream", ("joined-1 /10.0.0.1",)),
        "lake": ("range", ("connector-consumer-sea-0 /10.0.0.2",)),
        "ledger": ("range", ("ledger-1 /10.0.0.3",)),
    },
)


def found_in(cluster: MemoryCluster) -> CoveredReaders:
    return covered_readers(cluster.as_kafka, cluster.group_kinds.listed(), target="hamburg")


def test_each_kind_is_recognised_and_none_but_a_sink_can_be_good() -> None:
    found = found_in(CLUSTER)

    assert found.problems == ()
    assert {each.group: (each.called, each.best) for each in found.readers} == {
        "connect-cluster": ("group of another protocol", "warning"),
        "connect-lake": ("sink of Connect", "ok"),
        "counts": ("Kafka Streams application", "unknown"),
        "joined": ("Kafka Streams application", "unknown"),
        "lake": ("sink of Connect", "ok"),
        "strange": ("group of another protocol", "unknown"),
        "totals": ("Kafka Streams application", "unknown"),
        "workers": ("share group", "unknown"),
    }
    assert {each.group: each.internal for each in found.readers if each.kind == "streams"} == {
        "counts": ("counts-words-changelog",),
        "joined": (),
        "totals": ("totals-sums-repartition",),
    }


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("workers", "run its reset commands, then start them on hamburg. If it starts without that, share.auto"),
        ("totals", "Before it starts on hamburg: stop it everywhere, run its reset command, and delete its state.dir"),
        ("counts", "(its topic counts-words-changelog shows it)"),
        ("joined", "(the assignor of its members shows it)"),
        ("lake", "of the connector sea): point its Connect cluster at the new active cluster"),
        ("connect-cluster", "its members are workers of Connect, which share work and read nothing as this group"),
        ("strange", "ask its owners what its members read, and where they would begin on hamburg"),
    ],
)
def test_each_is_said_with_what_shows_it_and_what_its_owners_do(group: str, said: str) -> None:
    (sentence,) = (each.sentence for each in found_in(CLUSTER).readers if each.group == group)
    assert said in sentence


def test_what_may_not_be_looked_at_is_said_and_what_the_list_shows_stays() -> None:
    found = found_in(replace(CLUSTER, groups_hidden=("totals", "counts")))

    assert [each.split(":")[0] for each in found.problems] == [
        "the members of counts were not looked at",
        "which topics the Kafka Streams application totals has was not looked at",
    ]
    assert {"workers", "totals", "strange"} <= {each.group for each in found.readers}


def test_a_consumer_group_is_nothing_more_by_its_kind() -> None:
    assert reader_of(ListedGroup("ledger", "consumer", "classic consumer"), target="hamburg") is None
