"""The seed of a flow: journaled by one builder, and read as every version wrote it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import pytest

from kafka_dr.positions import SeedPoint, TopicPartition
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds, newest, newest_seed, newest_seed_of
from kafka_dr.register.roles import Roles
from support.register_states import a_state

FIRST, SECOND = (TopicPartition("orders.payments", number) for number in (0, 1))
SEED = FlowSeed(4, "west", "east", {FIRST: 7, SECOND: 9}, {FIRST: 5}, {"orders.payments": "id-1"})


@pytest.mark.parametrize(
    "seed",
    [
        SEED,
        replace(SEED, on_target={}, held=True),
        FlowSeed(1, "east", "west", {}, mode="start"),
        FlowSeed(1, "east", "west", {}, mode="continue"),
        replace(SEED, alone=True),
    ],
)
def test_a_seed_is_read_as_it_was_journaled(seed: FlowSeed) -> None:
    assert FlowSeed.from_json(json.loads(json.dumps(seed.to_json()))) == seed


def test_the_journal_holds_a_seed_in_rows() -> None:
    rows = {"source_positions": [["orders.payments", 0, 7], ["orders.payments", 1, 9]]}
    common = {"epoch": 4, "source": "west", "target": "east", **rows}
    ids = [{"topic": "orders.payments", "topic_id": "id-1"}]
    assert SEED.to_json() == {**common, "target_positions": [["orders.payments", 0, 5]], "topic_ids": ids}
    held = replace(SEED, on_target={}, held=True)
    assert held.to_json() == {**common, "target_positions": [], "topic_ids": ids, "held": True}


def test_a_point_is_known_where_both_clusters_were_read() -> None:
    assert SEED.points == {FIRST: SeedPoint(7, 5)}
    assert replace(SEED, held=True, on_target={}).points == {}


def test_an_adopted_flow_that_continues_at_its_own_offsets_says_so() -> None:
    assert FlowSeed(1, "east", "west", {}, mode="continue").keeps_offsets
    assert not FlowSeed(1, "east", "west", {}, mode="start").keeps_offsets
    assert not SEED.keeps_offsets


def test_the_newest_seed_is_the_one_of_the_highest_epoch_that_the_register_has_reached() -> None:
    history = {
        name: {"flow_seed": replace(SEED, epoch=epoch).to_json()} for name, epoch in (("a", 2), ("b", 4), ("c", 3))
    }
    history["d"] = {"claim": {"epoch": 9}}
    seeds = journaled_seeds(history)
    assert {name: seed.epoch for name, seed in seeds.items()} == {"a": 2, "b": 4, "c": 3}
    assert newest(seeds.values()) == SEED
    assert newest([]) is None
    assert newest_seed(history, a_state(epoch=3), "west") == replace(SEED, epoch=3)
    assert newest_seed(history, a_state(epoch=1), "west") is None


def test_a_seed_of_one_flow_alone_says_nothing_of_the_flow_back_or_of_other_clusters() -> None:
    first = {
        f"flow_seed.{source}-to-{target}": FlowSeed(1, source, target, {}, mode="start").to_json()
        for source, target in permutations(("east", "west", "north"), 2)
    }
    after = FlowSeed(1001, "east", "west", {FIRST: 7}, {FIRST: 9}, alone=True)
    history = {"adoption": first, "home": {"flow_seed.east-to-west": after.to_json()}}
    for active, standby, epoch in (("east", "west", 1001), ("west", "east", 1), ("north", "west", 1)):
        others = tuple(name for name in ("east", "west", "north") if name != active)
        roles = Roles.at_first((active, *others), active)
        found = newest_seed(history, replace(a_state(epoch=1001), roles=roles), standby)
        assert found is not None
        assert (found.source, found.target, found.epoch) == (active, standby, epoch)
    assert newest_seed_of(history, "east", "west") == after
