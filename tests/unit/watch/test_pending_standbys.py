"""After a failover from east to west, north is copied from west, from where its copy of east ends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.clusters import NotFound, Record, TopicPartition
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.positions import SeedPoint
from kafka_dr.register import Phase, transitions
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_further, newest_seed
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus, Positions
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.rescue.fetch_ledger import LEDGER, FetchEntry
from kafka_dr.watch.pending_standbys import (
    HoldsMore,
    NeedsFailback,
    is_pending,
    now_a_copy,
    now_diverged,
    require_nothing_fetched,
    seed_pending,
)
from support.manual_clock import ManualClock
from support.memory_cluster import MemoryCluster
from support.memory_register import MemoryRegister
from support.register_states import AT

FIRST, NEW = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
SIGNED: dict[str, Any] = {"run": "run-1", "evidence_sha256": "", "approved_by": "alice", "at": AT}


class GroupOnWest:
    """A group that has just moved from east, where its log ended at 100, to west, where that is 170.

    ``copied`` is how far the flow to north has come in east's log. A register lacks what a run journaled if it is
    ``lacking``.
    """

    def __init__(self, *lacking: tuple[str, str]) -> None:
        adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
        move: dict[str, Any] = {"verb": "planned_failover", "source": "east", "target": "west", "highest_epoch": 1}
        handed_over = transitions.handed_over(transitions.claimed(adopted, **move, **SIGNED), run="run-1", at=AT)
        self.state = transitions.settled(handed_over, run="run-1", at=AT)
        self.registers = {name: MemoryRegister() for name in ("east", "west", "north")}
        self.copied = {FIRST: 100}
        self.seed_epoch: int | None = 1
        self.ends = {FIRST: 140, NEW: 0}
        self.refused = Check("writes_refused", "ok", "refused")
        self.done: list[str] = []
        seeds = {
            ("adoption", fact_of_further("north")): FlowSeed(1, "east", "north", {}),
            ("run-1", FLOW_SEED): FlowSeed(2, "west", "east", {FIRST: 170}, {FIRST: 100}),
        }
        for name, register in self.registers.items():
            register.copy(self.state)
            register.write_fact("orders", "run-1", "target_ends", {"ends": positions_to_json({FIRST: 170})})
            for (run, fact), seed in seeds.items():
                if (name, run) not in lacking:
                    register.write_fact("orders", run, fact, seed.to_json())

    def replicator(self, flow: Flow) -> Any:
        running = FlowStatus("running" if flow == Flow("orders", "east", "north") else "absent", 1, "")
        return SimpleNamespace(
            status=lambda: running,
            stop=lambda: self.done.append(f"stop {flow.source} to {flow.target}"),
            wait_stopped=lambda _: self.done.append("stopped"),
            where=self.where,
            transactional_ids=lambda: ("north-0",),
            described="the connector",
        )

    def where(self) -> Positions:
        self.done.append("positions read")
        return Positions(self.copied, self.seed_epoch)

    def log_starts(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if LEDGER in wanted:
            raise NotFound("nothing was ever fetched")
        return dict.fromkeys(wanted, 0)

    def context(self) -> Any:
        topics = SimpleNamespace(
            high_watermarks=lambda wanted: {p: self.ends[p] for p in wanted},
            last_stable_offsets=lambda wanted: {p: self.ends[p] for p in wanted},
            log_starts=self.log_starts,
        )
        taken = SimpleNamespace(take_over=lambda ids: self.done.append(f"take over {', '.join(ids)}"))
        cluster = SimpleNamespace(topics=topics, transactions=taken)
        clients = SimpleNamespace(
            register=self.registers.__getitem__, replicator=self.replicator, cluster=lambda *_: cluster
        )
        return SimpleNamespace(
            clients=clients,
            clock=ManualClock(),
            known_silent={},
            group=SimpleNamespace(
                timing=SimpleNamespace(step_deadline_seconds=1.0), **dict.fromkeys(("name",), "orders")
            ),
            guard_by_all=lambda _: SimpleNamespace(require=lambda: None),
            acl_changes=lambda cluster, _: SimpleNamespace(add=lambda _: self.done.append(f"deny on {cluster}")),
            operator=lambda _: cluster,
            partitions=lambda _: (FIRST, NEW),
            topic_ids=lambda _: {"orders.payments": "w1"},
            ids_of_copies=lambda _: {"orders.payments": "w1"},
            declared=SimpleNamespace(renames_copies=False),
            writes_refused=lambda *_, **__: self.refused,
        )

    def seed(self) -> FlowSeed | None:
        found = seed_pending(cast("Any", self.context()), self.state, "north")
        for register in self.registers.values():
            assert newest_seed(register.history("orders"), self.state, "north") == found
        return found


@pytest.fixture(autouse=True)
def _without_acls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_dr.fencing.plan.flow_fence", lambda _: frozenset())


def test_the_flow_begins_where_the_copy_ends_on_the_new_active_cluster() -> None:
    world = GroupOnWest()
    assert (is_pending(world.state, "north"), is_pending(world.state, "east")) == (True, False)
    assert world.seed() == FlowSeed(2, "west", "north", {FIRST: 170}, topic_ids={"orders.payments": "w1"})


def test_the_old_flow_has_ended_and_is_fenced_before_its_positions_are_read() -> None:
    world = GroupOnWest()
    world.seed()
    assert world.done == ["stop east to north", "stopped", "deny on north", "take over north-0", "positions read"]


def test_what_was_journaled_is_not_looked_for_again() -> None:
    world = GroupOnWest()
    first, world.done = world.seed(), []
    world.copied = {FIRST: 3}
    assert world.seed() == first
    assert world.done == []


def test_without_an_exact_offset_nothing_is_journaled() -> None:
    world = GroupOnWest()
    before = world.registers["west"].history("orders")
    world.seed_epoch = 7
    with pytest.raises(NeedsPerson, match="the positions of the connector are not those"):
        world.seed()
    world.seed_epoch, world.ends[NEW] = 1, 4
    with pytest.raises(Refused, match=r"north holds records of orders.payments-1 that its flow has not copied"):
        world.seed()
    world.ends[NEW], world.copied = 0, {FIRST: 100, NEW: 5}
    with pytest.raises(Refused, match=r"payments-1 at 5: it is not known where both logs ended"):
        world.seed()
    world.copied, world.refused = {FIRST: 100}, Check("writes_refused", "failed", "a leader takes its writes")
    with pytest.raises(TryAgain, match="not proven to have ended: a leader takes its writes"):
        world.seed()
    assert world.registers["west"].history("orders") == before


def test_a_group_that_has_moved_twice_meanwhile_is_not_guessed_at() -> None:
    world = GroupOnWest()
    for register in world.registers.values():
        register.write_fact("orders", "run-9", fact_of_further("north"), FlowSeed(2, "south", "north", {}).to_json())
    with pytest.raises(
        Refused, match="north was copied from south last, and the group was not moved from there to west"
    ):
        world.seed()


def test_then_the_registers_say_that_it_is_a_copy() -> None:
    world = GroupOnWest()
    found = now_a_copy(cast("Any", world.context()), world.state, "north")
    assert found.roles.copies == ("east", "north")
    assert {register.read("orders") for register in world.registers.values()} == {found}


def test_an_older_flow_of_the_same_direction_does_not_continue_whichever_register_knows_of_the_later_one() -> None:
    for lacking in ("east", "west", "north"):
        world = GroupOnWest((lacking, "adoption"))
        stale = FlowSeed(0, "west", "north", {FIRST: 3}).to_json()
        for register in world.registers.values():
            register.write_fact("orders", "long ago", fact_of_further("north"), stale)
        assert world.seed() == FlowSeed(2, "west", "north", {FIRST: 170}, topic_ids={"orders.payments": "w1"})


def test_nothing_begins_while_a_register_does_not_answer() -> None:
    world = GroupOnWest()

    def silent(_: str) -> dict[str, Any]:
        raise TryAgain("east does not answer")

    world.registers["east"].history = silent  # type: ignore[method-assign,assignment]
    with pytest.raises(TryAgain, match="east does not answer"):
        seed_pending(cast("Any", world.context()), world.state, "north")
    assert world.done == []


class GroupWithoutEast(GroupOnWest):
    """The same group after an unplanned failover to west: nobody can ask east.

    :param ``crossed``: how far the flow to west had come in east's log when it was fenced
    """

    def __init__(self, *, crossed: dict[TopicPartition, int] | None = None, reached: CopyReached | None = None) -> None:
        super().__init__()
        adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
        move: dict[str, Any] = {"source": "east", "target": "west", "highest_epoch": 1}
        claim = transitions.claimed_unplanned(adopted, **move, **SIGNED)
        moved = transitions.handed_over(claim, run="run-1", at=AT)
        self.state = transitions.without_source(moved, run="run-1", fenced=False, at=AT)
        turn = FlowSeed(self.state.epoch, "west", "east", {FIRST: 170}, held=True)
        self.registers = {name: MemoryRegister() for name in ("west", "north")}
        for register in self.registers.values():
            register.copy(self.state)
            register.write_fact(
                "orders", "adoption", fact_of_further("north"), FlowSeed(1, "east", "north", {}).to_json()
            )
        west = self.registers["west"]
        west.write_fact("orders", "run-1", FLOW_SEED, turn.to_json())
        west.write_fact("orders", "run-1", "target_ends", {"ends": positions_to_json({FIRST: 170})})
        west.write_fact("orders", "run-1", "unverified", (reached or CopyReached(crossed or {FIRST: 100})).to_json())
        east = MemoryRegister()
        east.history = self.silent  # type: ignore[method-assign]
        self.registers["east"] = east

    @staticmethod
    def silent(group: str) -> Any:
        raise TryAgain("east does not answer")

    def seed(self) -> FlowSeed | None:
        return seed_pending(cast("Any", self.context()), self.state, "north")


def test_without_the_former_cluster_the_same_position_is_the_end_of_the_copy_on_west() -> None:
    world = GroupWithoutEast()
    assert is_pending(world.state, "north")
    wanted = FlowSeed(world.state.epoch, "west", "north", {FIRST: 170}, topic_ids={"orders.payments": "w1"})
    assert world.seed() == wanted
    assert world.done == ["stop east to north", "stopped", "deny on north", "take over north-0", "positions read"]
    for name in ("west", "north"):
        assert newest_seed(world.registers[name].history("orders"), world.state, "north") == wanted


def test_of_a_partition_that_was_fetched_in_part_the_flow_begins_before_what_was_fetched() -> None:
    """West's flow had come to 100 where west's log ended at 160, and 10 of the records of north were fetched."""
    reached = CopyReached({FIRST: 100}, {FIRST: 160}, {FIRST: SeedPoint(100, 160)})
    world = GroupWithoutEast(reached=reached)
    assert world.seed() == FlowSeed(
        world.state.epoch, "west", "north", {FIRST: 160}, topic_ids={"orders.payments": "w1"}
    )


def test_a_standby_from_which_all_was_fetched_is_copied_from_the_end_on() -> None:
    reached = CopyReached({FIRST: 100}, {FIRST: 170}, {FIRST: SeedPoint(90, 160)})
    world = GroupWithoutEast(reached=reached)
    assert world.seed() == FlowSeed(
        world.state.epoch, "west", "north", {FIRST: 170}, topic_ids={"orders.payments": "w1"}
    )


def test_a_standby_from_which_a_part_was_fetched_is_not_copied_to() -> None:
    world = GroupWithoutEast(reached=CopyReached({FIRST: 90}, {FIRST: 160}, {FIRST: SeedPoint(90, 160)}))
    with pytest.raises(HoldsMore, match="north holds up to 10 records of east that west lacks"):
        world.seed()


def test_a_standby_that_has_copied_more_is_not_copied_to() -> None:
    world = GroupWithoutEast(crossed={FIRST: 97})
    with pytest.raises(
        HoldsMore, match=r"north holds up to 3 records of east that west lacks \(3 of orders.payments-0\)"
    ):
        world.seed()
    state = now_diverged(cast("Any", world.context()), world.state, "north")
    assert (state.roles.of("north"), state.roles.of("east"), state.phase) == ("diverged", "unfenced", "unfenced")
    assert not is_pending(state, "north")
    with pytest.raises(Refused, match="orders is unfenced by run run-1"):
        transitions.claimed_unplanned(state, source="west", target="north", highest_epoch=1, **SIGNED)


def test_no_other_standby_may_be_silent_and_a_wrong_seed_is_a_matter_for_people() -> None:
    world = GroupWithoutEast()
    world.registers["north"].history = world.silent  # type: ignore[method-assign]
    with pytest.raises(TryAgain, match="does not answer"):
        world.seed()
    world = GroupWithoutEast()
    world.seed_epoch = 7
    with pytest.raises(NeedsPerson, match="the positions of the connector are not those"):
        world.seed()


def failed_back(world: GroupOnWest, *, epoch: int = 7) -> None:
    """East was made a copy again since."""
    facts = {"claim": {"target": "east", "epoch": epoch, "left_by": "run-1"}, "old_cluster_prepared": {}}
    for register in world.registers.values():
        for name, fact in facts.items():
            register.write_fact("orders", "repair", name, fact)
        again = FlowSeed(epoch, "west", "east", {}).to_json()
        register.write_fact("orders", "repair", FLOW_SEED, again)


def test_a_log_that_was_copied_again_since_says_nothing_about_where_a_copy_ends() -> None:
    world = GroupOnWest()
    failed_back(world)
    with pytest.raises(NeedsFailback, match="failback repair has made east a copy again since"):
        world.seed()
    assert "deny on north" in world.done


def test_without_the_former_cluster_it_does_not_matter_that_it_was_copied_again() -> None:
    world = GroupWithoutEast()
    wanted = FlowSeed(world.state.epoch, "west", "north", {FIRST: 170}, topic_ids={"orders.payments": "w1"})
    world.registers["east"] = MemoryRegister()
    failed_back(world, epoch=world.state.epoch)
    assert world.seed() == wanted


def test_an_old_flow_does_not_continue_in_a_log_that_was_copied_again_since() -> None:
    world = GroupWithoutEast()
    world.registers["east"] = MemoryRegister()
    failed_back(world, epoch=world.state.epoch)
    roles = world.state.roles.changed({"west": Role.COPY, "east": Role.ACTIVE})
    world.state = replace(world.state, phase=Phase.STABLE, roles=roles, epoch=world.state.epoch + 1, partner="west")
    with pytest.raises(NeedsFailback, match="make north a copy again with dr_failback"):
        world.seed()
    assert "deny on north" in world.done
    for register in world.registers.values():
        register.copy(world.state)
    given_up = now_diverged(cast("Any", world.context()), world.state, "north")
    assert (given_up.phase, given_up.roles.given_up) == (Phase.DIVERGED, ("north",))


def test_a_flow_never_copies_again_what_a_failover_that_was_given_up_has_fetched() -> None:
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    entry = FetchEntry("north", 7, 100, 160, records=5)
    line = Record(LEDGER.topic, 0, 0, 1, b"orders/east/1/orders.payments/0", entry.encoded())
    cluster = MemoryCluster("west", "w", {LEDGER.topic: [[line]]})
    context = cast("Any", GroupOnWest().context())
    context.operator = lambda _: cluster
    with pytest.raises(HoldsMore, match="5 records of another standby were fetched to west by a failover"):
        require_nothing_fetched(context, adopted, "west", FlowSeed(1, "east", "west", {}))
    # Since another seed, and from another cluster, it was copied again with all that it holds.
    require_nothing_fetched(context, adopted, "west", FlowSeed(2, "east", "west", {}))
    require_nothing_fetched(context, adopted, "west", FlowSeed(1, "north", "west", {}))
    require_nothing_fetched(context, adopted, "west", None)
