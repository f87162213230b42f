"""Where a flow continues after a part of what it had to copy was fetched from another standby."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import Record, TopicPartition
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus, Positions
from kafka_dr.rescue.fetch_ledger import FetchEntry
from kafka_dr.watch import after_fetch
from kafka_dr.watch.after_fetch import seed_after_fetch
from support.memory_cluster import MemoryCluster

A, B = (TopicPartition("orders.payments", number) for number in range(2))
FLOW = Flow("orders", "east", "west")
SEED = FlowSeed(1, "east", "west", {}, mode="start")


def a_log(name: str, values: list[int], gap: int) -> MemoryCluster:
    records = [
        Record(A.topic, 0, at * gap, 1_000 + value, None, str(value).encode()) for at, value in enumerate(values)
    ]
    return MemoryCluster(name, name, {A.topic: [records, []]})


def context(west: MemoryCluster, east: MemoryCluster, *, state: str = "stopped", epoch: int | None = 1) -> Any:
    """Return what a look knows of two clusters."""
    flow = SimpleNamespace(
        status=lambda: FlowStatus(cast("Any", state), 0, ""), where=lambda: Positions({A: 3, B: 8}, epoch)
    )
    return SimpleNamespace(
        group=SimpleNamespace(name="orders"),
        clock=None,
        operator=lambda _: west,
        clients=SimpleNamespace(replicator=lambda _: flow, cluster=lambda *_: east),
        copies_by=lambda *_: west,
        copied_by=lambda _: (A,),
        topic_ids=lambda _: {A.topic: "id"},
    )


def fetched(records: int = 4) -> Mapping[TopicPartition, FetchEntry]:
    return {A: FetchEntry("north", 9, 0, 0, records=records)}


def found(monkeypatch: pytest.MonkeyPatch, world: Any, ledger: Mapping[TopicPartition, FetchEntry]) -> FlowSeed | None:
    monkeypatch.setattr(after_fetch, "final_ledger", lambda *_: ledger)
    return seed_after_fetch(world, FLOW, SEED, epoch=1001)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
@settings(max_examples=150, deadline=None)
def test_a_flow_copies_from_there_what_its_copy_lacks_and_nothing_twice_or_does_not_start(
    values: list[int], data: st.DataObject
) -> None:
    held = data.draw(st.integers(1, len(values)))
    here, there = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    world = context(a_log("west", values[:held], here), a_log("east", values, there))
    with pytest.MonkeyPatch.context() as patched:
        try:
            seed = found(patched, world, fetched())
        except Refused:
            # Records that are equal in every byte may leave open which of them a copy ends with.
            assert len(set(values)) < len(values)
            return
    assert seed is not None
    copied = [value for at, value in enumerate(values) if at * there >= seed.on_source[A]]
    assert values[:held] + copied == values
    assert (seed.epoch, seed.alone, seed.on_source[B]) == (1001, True, 8)


def test_where_nothing_was_fetched_a_flow_keeps_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = context(a_log("west", [1, 2], 1), a_log("east", [1, 2, 3], 1), state="running")
    assert found(monkeypatch, world, {}) is None
    assert found(monkeypatch, world, fetched(records=0)) is None


def test_a_copy_that_is_not_in_the_log_of_its_source_is_not_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    world = context(a_log("west", [1, 2, 9], 1), a_log("east", [1, 2, 3, 4], 1))
    with pytest.raises(Refused, match="content does not show where"):
        found(monkeypatch, world, fetched())


def test_a_flow_that_runs_or_has_other_positions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = a_log("west", [1, 2], 1), a_log("east", [1, 2, 3], 1)
    with pytest.raises(Refused, match="is running"):
        found(monkeypatch, context(*logs, state="running"), fetched())
    with pytest.raises(NeedsPerson, match="not those of its seed"):
        found(monkeypatch, context(*logs, epoch=7), fetched())
