"""Where a flow began is about its originals and their copies alone; what was before the names changed is nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.group_offsets.translation_basis import seeds
from kafka_dr.naming import DefaultNaming
from kafka_dr.positions import SeedPoint, TopicPartition
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_from_standby

P = TopicPartition("orders", 0)
#: Of a failover, while copies had the names of their originals.
SAME_NAMES = FlowSeed(2, "west", "east", {P: 7}, {P: 5})
TAKEN_OVER = FlowSeed(4, "east", "west", {P: 100}, {P: 120}, mode="take_over")
BACK = FlowSeed(4, "west", "east", {}, mode="start")
#: From copies on one cluster to their originals on the other.
TO_ORIGINALS = PositionTransfer("east", on_source=DefaultNaming("east", "west"))


def run(source: str, target: str) -> Any:
    history = {
        "failover": {FLOW_SEED: SAME_NAMES.to_json(), "target_ends": {}},
        "take_over": {fact_of_from_standby("west", "east"): BACK.to_json(), FLOW_SEED: TAKEN_OVER.to_json()},
    }
    found = SimpleNamespace(source=source, target=target, history_of_flows=lambda _: history, opens_copy=False)
    return cast("Any", found)


@pytest.mark.parametrize(
    ("source", "target", "transfer", "expected"),
    [
        ("east", "west", None, {P: [SeedPoint(100, 120)]}),
        ("west", "east", TO_ORIGINALS, {P: [SeedPoint(120, 100)]}),
        ("west", "east", None, {}),
        ("east", "west", PositionTransfer("west", on_source=DefaultNaming("west", "east")), {}),
    ],
)
def test_a_take_over_counts_along_its_flow_and_from_its_copies_to_the_originals(
    source: str, target: str, transfer: PositionTransfer | None, expected: dict[TopicPartition, list[SeedPoint]]
) -> None:
    assert seeds(run(source, target), transfer) == expected
