"""The delay between sites: which partitions measure it, and that too little is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafka_dr.clusters.write_delay import DelaySamples
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.delay import create_command, delay_findings, delay_partitions, judged_delays
from kafka_dr.stretch.facts import StretchPartition
from support.stretch_facts import facts, partition

SEEN = facts()
PAIRS = [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")]


def own(*replicas: int, number: int, **more: Any) -> StretchPartition:
    return replace(partition(*replicas, **more), partition=TopicPartition("delay", number))


def test_a_partition_measures_from_its_leader_to_its_one_other_replica() -> None:
    placed = [
        own(1, 2, number=0),
        own(1, 3, number=1, leader=3),
        own(2, 3, number=2, in_sync=(2,)),
        own(1, 4, number=3),
        own(1, 2, 3, number=4),
    ]
    found = delay_partitions(SEEN, placed)
    assert {pair: p.partition for pair, p in found.items()} == {("a", "b"): 0, ("c", "a"): 1}


def test_the_median_counts_and_too_few_measurements_are_unknown() -> None:
    partitions = {("a", "b"): TopicPartition("delay", 0), ("a", "c"): TopicPartition("delay", 1)}
    samples = [
        DelaySamples(TopicPartition("delay", 0), (*(5.0,) * 98, 90.0, 99.0)),
        DelaySamples(TopicPartition("delay", 1), (5.0,) * 29, "refused"),
    ]
    delays = {each.pair: each for each in judged_delays(SEEN, partitions, samples)}
    assert [*delays] == PAIRS
    assert (delays["a", "b"].typical, delays["a", "b"].longest) == (5.0, 90.0)
    assert (delays["a", "c"].typical, delays["a", "c"].problem) == (None, "29 of 30 measurements: refused")
    assert "no partition that is led in b" in delays["b", "a"].problem
    levels = [each.level for each in delay_findings(delays.values(), 10)]
    assert levels == ["unknown"] * 5
    assert [each.level for each in delay_findings([delays["a", "b"]], 5)] == ["failed"]
    assert [*delay_findings([delays["a", "b"]], 5.1)] == []


def test_the_command_assigns_a_partition_to_each_pair_in_each_order() -> None:
    assert create_command(SEEN, "delay").endswith("--replica-assignment 1:2,1:3,2:1,2:3,3:1,3:2")
    without_c = facts(down=(3, 6))
    assert create_command(without_c, "delay").endswith("--replica-assignment 1:2,2:1")
