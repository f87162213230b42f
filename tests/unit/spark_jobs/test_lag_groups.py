"""A lag audit measures every group that has offsets, names the others as what they are, and calls none of those OK."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from jobs.lag.groups import SeenGroups, seen_groups
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.lag.assessment import LagLook, PartitionSeen, assess
from kafka_dr.lag.findings import LagLimits
from kafka_dr.lag.report import Subject, UnjudgedGroup, report
from kafka_dr.lag.window import Window
from support.memory_cluster import MemoryCluster
from support.observed_twins import NAMINGS, TOPIC, observed_flow

P = TopicPartition(TOPIC, 0)
KINDS = {
    "workers": ListedGroup("workers", "share", "share"),
    "totals": ListedGroup("totals", "streams", "streams"),
    "idle": ListedGroup("idle", "streams", "streams"),
    "connect-cluster": ListedGroup("connect-cluster", "other", "classic connect"),
    "strange": ListedGroup("strange", "other", "classic gossip"),
    "elsewhere": ListedGroup("elsewhere", "share", "share"),
}
CLUSTER = MemoryCluster("berlin", "B", {TOPIC: [[]]}, {"ledger": {P: 4}, "totals": {P: 3}}, kinds=KINDS)
FLOW = replace(observed_flow(NAMINGS["default"]), covers_group=lambda name: name != "elsewhere")
AT = datetime(2026, 3, 1, tzinfo=UTC)


def groups(cluster: MemoryCluster = CLUSTER) -> SeenGroups:
    return seen_groups(FLOW, cluster.as_kafka)


def test_who_has_offsets_is_measured_whatever_its_kind() -> None:
    assert {each.group: (each.kind, each.state, each.positions) for each in groups().seen} == {
        "ledger": ("consumer group", "EMPTY", {(TOPIC, 0): 4}),
        "totals": ("Kafka Streams application", "EMPTY", {(TOPIC, 0): 3}),
    }


def test_who_has_none_is_named_with_what_to_do() -> None:
    found = groups()

    assert {each.group: (each.kind, each.no_reader) for each in found.unjudged} == {
        "connect-cluster": ("group of another protocol", True),
        "idle": ("Kafka Streams application", False),
        "strange": ("group of another protocol", False),
        "workers": ("share group", False),
    }
    assert all(each.todo for each in found.unjudged)
    assert found.refused == {}


def test_what_may_not_be_read_is_a_refusal_of_a_consumer_group_and_unknown_of_others() -> None:
    found = groups(replace(CLUSTER, groups_hidden=("ledger", "totals", "connect-cluster")))

    assert found.seen == ()
    assert set(found.refused) == {"ledger"}
    said = {each.group: each.said for each in found.unjudged if not each.no_reader}
    assert {"totals", "connect-cluster"} <= said.keys()
    assert said["totals"].startswith("its offsets could not be read: berlin: totals")


@pytest.mark.parametrize(
    ("unjudged", "verdict", "said"),
    [
        ((), "ok", "how long records take is not known."),
        (
            groups().unjudged,
            "groups unknown",
            "idle (Kafka Streams application), strange (group of another protocol), ",
        ),
        ([each for each in groups().unjudged if each.no_reader], "ok", "how long records take is not known."),
    ],
    ids=["none", "some", "only workers of Connect"],
)
def test_a_report_that_shows_one_is_not_ok(unjudged: tuple[UnjudgedGroup, ...], verdict: str, said: str) -> None:
    looked = LagLook(AT, Window(), "epoch 1", True, 60.0, 3600.0)
    found = assess([PartitionSeen(TOPIC, 0, "id", 0, 5, 5, 5)], (), looked)
    subject = Subject("invoices.berlin-to-hamburg", 1, "running", AT, 1.0, 0, "", unjudged=unjudged)
    made = report(subject, found, (), LagLimits(60, 60, 60, 60, 3600))

    assert made["verdict"] == verdict
    assert said in made["sentence"]
    assert {row["group"] for row in made["groups_unknown"]} == {each.group for each in unjudged}
    assert {row["verdict"] for row in made["groups_unknown"]} <= {"unknown", "no reader"}
