"""The changes that lead from the existing connectors to the one that the register requires."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import FlowSeed, newest_seed
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus
from kafka_dr.watch.flow_plan import FlowAction, ObservedFlow, plan_flows
from support.register_states import a_state

FORWARD = Flow("orders", "east", "west")
REVERSE = Flow("orders", "west", "east")
SEED = FlowSeed(3, "east", "west", {TopicPartition("orders.payments", 0): 7})


def state(epoch: int = 3, **changes: Any) -> RegisterState:
    return a_state(**{"epoch": epoch, "verb": "planned_failover", "run": "r1", **changes})


def seen(flow: Flow, status: str, *, seed: int | None = None, differing: tuple[str, ...] = ()) -> ObservedFlow:
    return ObservedFlow(flow, FlowStatus(status, 0 if status == "absent" else 2, ""), seed, differing)  # type: ignore[arg-type]


def actions(*observed: ObservedFlow, seed: FlowSeed | None = SEED) -> list[tuple[FlowAction, Flow]]:
    flows = {FORWARD: seen(FORWARD, "absent"), REVERSE: seen(REVERSE, "absent")} | {
        each.flow: each for each in observed
    }
    return [(change.action, change.flow) for change in plan_flows(state(), FORWARD, flows.values(), seed).changes]


def test_a_flow_that_runs_from_its_seed_is_left_as_it_is() -> None:
    assert actions(seen(FORWARD, "running", seed=3)) == [(FlowAction.LEAVE, FORWARD)]


def test_a_flow_that_does_not_exist_is_created_seeded_and_only_then_resumed() -> None:
    assert actions() == [(FlowAction.CREATE, FORWARD), (FlowAction.SEED, FORWARD), (FlowAction.RESUME, FORWARD)]


@pytest.mark.parametrize("status", ["running", "failed", "paused", "unassigned", "unknown"])
def test_the_other_direction_is_stopped_before_anything_else(status: str) -> None:
    assert actions(seen(REVERSE, status, seed=2))[0] == (FlowAction.STOP, REVERSE)


def test_a_stopped_connector_of_the_other_direction_is_not_touched() -> None:
    assert actions(seen(REVERSE, "stopped", seed=2), seen(FORWARD, "running", seed=3)) == [(FlowAction.LEAVE, FORWARD)]


@pytest.mark.parametrize("old", [None, 1, 2])
def test_a_stopped_connector_with_old_offsets_is_seeded_before_it_is_resumed(old: int | None) -> None:
    assert actions(seen(FORWARD, "stopped", seed=old)) == [(FlowAction.SEED, FORWARD), (FlowAction.RESUME, FORWARD)]


@pytest.mark.parametrize("old", [None, 1, 2])
@pytest.mark.parametrize("status", ["running", "failed", "paused", "unassigned"])
def test_a_connector_that_runs_from_old_offsets_is_stopped_and_left_to_a_person(status: str, old: int | None) -> None:
    plan = plan_flows(state(), FORWARD, [seen(FORWARD, status, seed=old), seen(REVERSE, "absent")], SEED)
    assert [change.action for change in plan.changes] == [FlowAction.STOP]
    assert "check what it copied to west" in plan.problem


@pytest.mark.parametrize("seed", [None, FlowSeed(3, "west", "east", {})])
@pytest.mark.parametrize("status", ["absent", "stopped", "running"])
def test_without_a_seed_for_its_direction_nothing_is_created_or_resumed(status: str, seed: FlowSeed | None) -> None:
    plan = plan_flows(state(), FORWARD, [seen(FORWARD, status, seed=3), seen(REVERSE, "absent")], seed)
    assert {change.action for change in plan.changes} == {FlowAction.LEAVE}
    assert "neither created nor resumed" in plan.problem


def test_settings_that_differ_are_named_and_updated() -> None:
    plan = plan_flows(
        state(),
        FORWARD,
        [seen(FORWARD, "running", seed=3, differing=("tasks.max", "topics")), seen(REVERSE, "absent")],
        SEED,
    )
    assert [change.action for change in plan.changes] == [FlowAction.UPDATE]
    assert "tasks.max, topics" in str(plan.changes[0])


@pytest.mark.parametrize(
    ("status", "wanted"),
    [("stopped", FlowAction.RESUME), ("paused", FlowAction.RESUME), ("failed", FlowAction.RESTART)],
)
def test_a_seeded_flow_that_does_not_run_is_resumed_or_restarted(status: str, wanted: FlowAction) -> None:
    assert actions(seen(FORWARD, status, seed=3)) == [(wanted, FORWARD)]


def test_an_adopted_connector_keeps_its_offsets() -> None:
    adopted = FlowSeed(1, "east", "west", {}, mode="continue")
    assert actions(seen(FORWARD, "running"), seed=adopted) == [(FlowAction.LEAVE, FORWARD)]
    assert actions(seen(FORWARD, "stopped"), seed=adopted) == [(FlowAction.RESUME, FORWARD)]


def test_an_adopted_connector_that_is_gone_is_not_started_from_zero() -> None:
    plan = plan_flows(
        state(),
        FORWARD,
        [seen(FORWARD, "absent"), seen(REVERSE, "absent")],
        FlowSeed(1, "east", "west", {}, mode="continue"),
    )
    assert [change.action for change in plan.changes] == [FlowAction.LEAVE]
    assert "does not exist any more" in plan.problem


def journaled(epoch: int, source: str, target: str, **more: Any) -> dict[str, Any]:
    rows = [["orders.payments", 0, 10 * epoch]]
    common = {"epoch": epoch, "source": source, "target": target, "target_positions": []}
    return {"flow_seed": {**common, "source_positions": rows, **more}}


def test_the_newest_seed_counts_whatever_its_direction() -> None:
    history = {"r1": journaled(1, "east", "west"), "r2": journaled(2, "west", "east"), "r3": {"claim": {}}}
    seed = newest_seed(history, state(epoch=2), "west")
    assert seed == FlowSeed(2, "west", "east", {TopicPartition("orders.payments", 0): 20})


def test_a_roll_back_keeps_the_seed_of_the_flow() -> None:
    seed = newest_seed({"r1": journaled(1, "east", "west", mode="continue")}, state(epoch=5, verb="roll_back"), "west")
    assert seed is not None
    assert (seed.epoch, seed.keeps_offsets) == (1, True)


def test_a_seed_of_an_epoch_that_the_register_has_not_reached_does_not_count() -> None:
    assert newest_seed({"r2": journaled(4, "west", "east")}, state(epoch=3), "west") is None


BACK = FlowSeed(3, "west", "east", {})


def test_both_directions_run_where_copies_have_names_of_their_own() -> None:
    flows = [seen(FORWARD, "running", seed=3), seen(REVERSE, "stopped", seed=3)]
    plan = plan_flows(state(), FORWARD, flows, SEED, {REVERSE: BACK})
    assert [(each.action, each.flow) for each in plan.changes] == [
        (FlowAction.LEAVE, FORWARD),
        (FlowAction.RESUME, REVERSE),
    ]
    assert not plan.problem


def test_a_flow_back_that_started_from_another_seed_is_stopped_and_named() -> None:
    flows = [seen(FORWARD, "running", seed=3), seen(REVERSE, "running", seed=1)]
    plan = plan_flows(state(), FORWARD, flows, SEED, {REVERSE: BACK})
    assert [(each.action, each.flow) for each in plan.changes][-1] == (FlowAction.STOP, REVERSE)
    assert "started from the seed of epoch 1" in plan.problem


def test_of_seeds_of_one_adoption_that_of_the_flow_from_the_active_cluster_counts() -> None:
    history = {"adoption": {**journaled(1, "east", "west"), "flow_seed.west-to-east": BACK_FACT}}
    for active, other in (("east", "west"), ("west", "east")):
        found = newest_seed(history, state(epoch=9, active=active, standby=other), other)
        assert found is not None
        assert (found.source, found.target) == (active, other)


BACK_FACT = FlowSeed(1, "west", "east", {}, mode="start").to_json()
