"""Plans: as few moves as possible, valid for Kafka's tools, and a second plan has nothing to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.facts import StretchFacts
from kafka_dr.stretch.plan import plan_for
from support.stretch_facts import SIX, facts, partition

FIRST = TopicPartition("t", 0)


def test_one_replica_of_two_in_a_site_moves_to_the_site_that_has_none_and_the_leader_stays() -> None:
    plan = plan_for(facts(partition(3, 6, 1)))
    assert plan.reassignment == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2, 1]}]}
    assert not plan.not_fixed


def test_a_replica_in_no_known_site_stays() -> None:
    brokers = {**SIX, 3: None, 6: None}
    assert plan_for(facts(partition(3, 6, 1), brokers=brokers)).reassign == {}


def test_what_is_placed_well_does_not_move() -> None:
    assert plan_for(facts(partition(1, 2, 3), partition(3, 5, 4))).reassign == {}


def test_what_moves_cannot_correct_is_said() -> None:
    plan = plan_for(facts(partition(3), partition(3, 1), partition(1, 2, 3, min_in_sync=1), partition(1, 4, 2, 5)))
    why = {str(names[0]): said for said, names in plan.not_fixed.items()}
    assert "have 3 replicas, not 1" in why["t-0"]
    assert "have 3 replicas, not 2" in why["t-1"]
    assert "min.insync.replicas is 1" in why["t-2"]
    assert "need more than 3 sites" in why["t-3"]
    assert plan.reassign == {}


def test_a_partition_that_is_being_reassigned_is_left_alone() -> None:
    plan = plan_for(facts(partition(3, 6, 1, moving=True)))
    assert (plan.reassign, [*plan.not_fixed]) == ({}, ["it is being reassigned already"])


def test_leaders_that_are_not_preferred_are_listed_for_an_election() -> None:
    seen = facts(partition(1, 2, 3, leader=2), partition(1, 2, 3, leader=2, in_sync=(2, 3)), partition(1, 2, 3))
    assert plan_for(seen).election == {"partitions": [{"topic": "t", "partition": 0}]}


def test_replicas_go_to_the_broker_that_has_fewest() -> None:
    busy = [partition(2, 1, 3) for _ in range(3)]
    assert plan_for(facts(partition(3, 6, 1), *busy)).reassign[FIRST] == (3, 5, 1)


@given(st.lists(st.permutations(range(1, 7)).map(lambda p: tuple(p[:3])), min_size=1, max_size=5))
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(placed: list[tuple[int, ...]]) -> None:
    seen = facts(*(partition(*replicas) for replicas in placed))
    plan = plan_for(seen)
    moved = sum(len({*old} - {*plan.reassign.get(TopicPartition("t", n), old)}) for n, old in enumerate(placed))
    too_many = sum(sum(c - 1 for c in Counter(SIX[b] for b in old).values()) for old in placed)
    assert moved == too_many
    after = carried_out(seen, plan.reassign)
    assert all(len({SIX[broker] for broker in each.replicas}) == 3 for each in after.partitions)
    assert plan_for(after).reassign == {}


def carried_out(seen: StretchFacts, new: dict[TopicPartition, tuple[int, ...]]) -> StretchFacts:
    moved = (replace(each, replicas=new.get(each.partition, each.replicas)) for each in seen.partitions)
    return replace(seen, partitions=tuple(moved))
