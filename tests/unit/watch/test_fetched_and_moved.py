"""Records were fetched to a standby by a failover that was given up for another one: each is there once in the end.

An unplanned failover to north has fetched records there from another standby, and died. Another run takes the group
from it and moves it to west, or is rolled back, before anybody looks at north. North's own flow does not know of what
was fetched, so its position says nothing about where the copy on north ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.failover.unplanned import fetch_plan
from kafka_dr.failover.unplanned.donors import Donor, as_donor
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import transitions
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_further, newest_seed
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus, Positions
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.rescue.fetch_ledger import LEDGER, FetchEntry, LedgerName, final_ledger, transactional_id
from kafka_dr.watch import pending_standbys
from kafka_dr.watch.pending_standbys import HoldsMore, require_nothing_fetched, seed_pending
from support.manual_clock import ManualClock
from support.memory_cluster import MemoryCluster
from support.memory_register import MemoryRegister
from support.register_states import AT

A = TopicPartition("orders.payments", 0)
SIGNED: dict[str, Any] = {"run": "run-1", "evidence_sha256": "", "approved_by": "alice", "at": AT}
#: A value, and the offset at which a log holds it.
Log = list[tuple[int, int]]


@dataclass
class Fetched:
    """What the logs hold.

    :param values: of east's log: the offset of each is its number in this list
    :param by_flow: how many of them north's own flow has copied
    :param fetched: how many more were fetched to north
    :param complete: whether the fetch says that this was all that its donor had
    :param west: how many of them west holds
    :param written: values that were written to west after it was opened
    :param planned: whether west became active by a planned failover: then it holds all of them
    """

    values: list[int]
    by_flow: int
    fetched: int
    complete: bool
    west: int
    written: list[int]
    planned: bool
    here: Log = field(default_factory=list)
    there: Log = field(default_factory=list)
    own_end: int = 0
    moved_at: int = 0

    @property
    def entry(self) -> FetchEntry:
        reached = self.by_flow + self.fetched if self.complete else None
        return FetchEntry("south", 7, self.by_flow, self.own_end, reached, self.fetched)


def spread(draw: st.DrawFn, values: Sequence[int], at: int = 0) -> Log:
    found = []
    for value in values:
        at += draw(st.integers(0, 1))
        found.append((value, at))
        at += 1
    return found


@st.composite
def worlds(draw: st.DrawFn) -> Fetched:
    different = draw(st.booleans())
    values = draw(st.lists(st.integers(0, 99 if different else 1), min_size=1, max_size=9, unique=different))
    by_flow = draw(st.integers(0, len(values) - 1))
    fetched = draw(st.integers(1, len(values) - by_flow))
    planned = draw(st.booleans())
    west = len(values) if planned else draw(st.integers(0, len(values)))
    written = draw(st.lists(st.integers(100, 101), max_size=3))
    world = Fetched(values, by_flow, fetched, draw(st.booleans()), west, written, planned)
    world.here = spread(draw, values[:by_flow])
    world.own_end = world.here[-1][1] + 1 if world.here else 0
    world.here += spread(draw, values[by_flow : by_flow + fetched], world.own_end)
    world.there = spread(draw, values[:west])
    world.moved_at = world.there[-1][1] + 1 if world.there else 0
    world.there += spread(draw, written, world.moved_at)
    return world


def a_cluster(name: str, log: Log, ledger: Sequence[tuple[str, FetchEntry]] = ()) -> MemoryCluster:
    records = [Record(A.topic, 0, at, 1_000 + value, None, str(value).encode()) for value, at in log]
    lines = [Record(LEDGER.topic, 0, at, 1, key.encode(), each.encoded()) for at, (key, each) in enumerate(ledger)]
    return MemoryCluster(name, name, {A.topic: [records], **({LEDGER.topic: [lines]} if lines else {})})


class MovedToWest:
    """The group after it was moved from east to west, and what ``dr_flows`` can ask about it."""

    def __init__(self, world: Fetched) -> None:
        adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
        move: dict[str, Any] = {"source": "east", "target": "west", "highest_epoch": 1, **SIGNED}
        if world.planned:
            claim = transitions.claimed(adopted, verb="planned_failover", **move)
        else:
            claim = transitions.claimed_unplanned(adopted, **move)
        moved = transitions.handed_over(claim, run="run-1", at=AT)
        self.state = (
            transitions.settled(moved, run="run-1", at=AT)
            if world.planned
            else transitions.without_source(moved, run="run-1", fenced=True, at=AT)
        )
        ends, east = {A: world.moved_at}, {A: len(world.values)}
        turn = FlowSeed(self.state.epoch, "west", "east", ends, east if world.planned else {}, held=not world.planned)
        self.registers = {name: MemoryRegister() for name in ("east", "west", "north")}
        for register in self.registers.values():
            seed = FlowSeed(1, "east", "north", {})
            register.write_fact("orders", "adoption", fact_of_further("north"), seed.to_json())
            register.write_fact("orders", "run-1", FLOW_SEED, turn.to_json())
            register.write_fact("orders", "run-1", "target_ends", {"ends": positions_to_json(ends)})
            register.write_fact("orders", "run-1", "unverified", CopyReached({A: world.west}).to_json())
        self.clusters = {
            "east": a_cluster("east", list(zip(world.values, range(99), strict=False))),
            "west": a_cluster("west", world.there),
            "north": a_cluster("north", world.here, [("orders/east/1/orders.payments/0", world.entry)]),
        }
        self.copied = {A: world.by_flow} if world.by_flow else {}

    def replicator(self, flow: Flow) -> Any:
        return SimpleNamespace(
            status=lambda: FlowStatus("absent", 0, ""),
            where=lambda: Positions(self.copied, 1),
            transactional_ids=lambda: ("north-0",),
            described="the connector",
        )

    def context(self) -> Any:
        return SimpleNamespace(
            clients=SimpleNamespace(
                register=self.registers.__getitem__,
                replicator=self.replicator,
                cluster=lambda name, _: self.clusters[name],
            ),
            clock=ManualClock(),
            known_silent={},
            group=SimpleNamespace(timing=SimpleNamespace(step_deadline_seconds=1.0), name="orders"),
            guard_by_all=lambda _: SimpleNamespace(require=lambda: None),
            acl_changes=lambda *_: SimpleNamespace(add=lambda _: None),
            operator=self.clusters.__getitem__,
            partitions=lambda _: (A,),
            topic_ids=lambda _: {A.topic: "w1"},
            ids_of_copies=lambda _: {A.topic: "w1"},
            declared=SimpleNamespace(renames_copies=False),
            writes_refused=lambda *_, **__: Check("writes_refused", "ok", "refused"),
        )

    def look(self) -> FlowSeed:
        """Let ``dr_flows`` look at north."""
        context = cast("Any", self.context())
        seed = seed_pending(context, self.state, "north")
        require_nothing_fetched(context, self.state, "north", seed)
        return seed


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_dr.fencing.plan.flow_fence", lambda _: frozenset())
    monkeypatch.setattr(pending_standbys, "matched_by_audits", lambda *_: {})
    monkeypatch.setattr(fetch_plan, "matched_by_audits", lambda *_: {})


@given(worlds())
@settings(max_examples=400, deadline=None)
def test_a_flow_from_the_new_active_cluster_brings_what_is_lacking_and_nothing_twice_or_does_not_run(
    world: Fetched,
) -> None:
    group = MovedToWest(world)
    repeated = len(set(world.values)) < len(world.values)
    lacking = world.by_flow + world.fetched > world.west
    try:
        seed = group.look()
    except HoldsMore:
        # Nobody waits for what never comes: a failback can make it a copy again.
        event("diverged")
        assert lacking or repeated
        return
    except Refused:
        event("no answer")
        assert repeated
        return
    event("copied")
    assert not lacking
    start = seed.on_source.get(A, 0)
    assert [value for value, _ in world.here] + [value for value, at in world.there if at >= start] == [
        value for value, _ in world.there
    ]
    assert newest_seed(group.registers["west"].history("orders"), group.state, "north") == seed


def test_what_another_process_had_begun_to_fetch_cannot_be_committed_after_the_ledger_was_read() -> None:
    world = Fetched([1, 2], 1, 1, True, 2, [], True, [(1, 0), (2, 1)], [(1, 0), (2, 1)], 1, 2)
    group = MovedToWest(world)
    group.look()
    assert group.clusters["north"].taken_over.count(transactional_id("orders")) >= 1
    # Where nothing was ever fetched, no id is taken over.
    clean = a_cluster("north", world.here)
    assert final_ledger(clean.as_kafka, LedgerName("orders", "east", 1), ManualClock()) == {}
    assert clean.taken_over == []


@given(worlds())
@settings(max_examples=200, deadline=None)
def test_a_donor_to_which_was_fetched_itself_counts_with_what_is_known_of_its_end(world: Fetched) -> None:
    """Else a group whose offset is where the donor's own flow ended would begin after what was fetched."""
    held = {A: OffsetRange(0, world.here[-1][1] + 1)}
    found = as_donor({A: world.by_flow}, {A: world.entry}, held)
    own, end = world.by_flow, held[A].end
    if world.complete:
        assert found == Donor({A: own + world.fetched}, {A: OffsetRange(0, end)})
    else:
        assert found == Donor({A: own}, {A: OffsetRange(0, world.own_end)})
    assert [value for value, at in world.here if at in found.held[A]] == world.values[: found.copied[A]]
    assert as_donor({A: own}, {}, held) == Donor({A: own}, held)
