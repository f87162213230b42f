from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import positions_to_json
from kafka_dr.register import Phase, transitions
from kafka_dr.register.abandonment import (
    LEFT_WITH_COPIES,
    abandonment,
    failback_changed_it_since,
    failback_since,
)
from kafka_dr.register.flow_seed import FlowSeed
from support.register_states import AT, a_state

FIRST = TopicPartition("orders", 0)

#: As a failback journals it.
FAILBACK: dict[str, Any] = {
    "claim": {"verb": "failback", "left_by": "disaster-1", "mode": "rebuild"},
    "rebuild": {"cluster": "east", "epoch": 7},
    "old_cluster_prepared": {"mode": "rebuild", "old_ends": [["orders", 0, 12]], "deletes": []},
}


@pytest.mark.parametrize(
    ("left_by", "others", "changed"),
    [("disaster-1", "", True), ("disaster-1", "failback-1", False), ("disaster-2", "", False)],
)
def test_a_failback_that_prepared_it_has_changed_the_old_cluster(left_by: str, others: str, changed: bool) -> None:
    history = {"disaster-1": {"target_ends": {"ends": []}}, "failback-1": FAILBACK}
    assert failback_changed_it_since(history, left_by, by_others_than=others) is changed


def test_a_failback_that_has_only_claimed_the_group_has_changed_nothing() -> None:
    history = {"failback-1": {"claim": FAILBACK["claim"]}}
    assert not failback_changed_it_since(history, "disaster-1")


def seed(source: str, target: str, epoch: int, *, held: bool) -> dict[str, Any]:
    return FlowSeed(epoch, source, target, {FIRST: 40}, held=held).to_json()


def test_each_cluster_that_a_run_left_has_a_list_of_its_own() -> None:
    history = {
        "disaster-1": {
            "flow_seed": seed("west", "east", 1003, held=True),
            "target_ends": {"ends": [["orders", 0, 40]]},
        },
        "home": {**FAILBACK, "flow_seed": seed("west", "east", 1004, held=False)},
    }
    adopted = transitions.adopted("orders", active="west", standbys=["east", "north"], run="adoption", at=AT)
    state = replace(adopted, epoch=1005)
    east, north = (abandonment(history, state, name) for name in ("east", "north"))
    assert (east.run, east.name, east.was_active, east.new_ends) == ("disaster-1", "disaster-1", True, {FIRST: 40})
    assert (north.run, north.name, north.was_active) == ("disaster-1", "disaster-1.north", False)
    history["disaster-2"] = {"flow_seed": seed("north", "west", 2002, held=True), "target_ends": {"ends": []}}
    moved = transitions.adopted("orders", active="north", standbys=["east", "west"], run="adoption", at=AT)
    later = abandonment(history, replace(moved, epoch=2002), "east")
    assert (later.name, later.was_active) == ("disaster-2.east", False)


def test_a_cluster_that_its_last_run_had_copied_completely_was_not_left_by_that_run() -> None:
    history = {"planned": {"flow_seed": seed("west", "east", 2, held=False), "target_ends": {"ends": []}}}
    adopted = transitions.adopted("orders", active="west", standbys=["east", "north"], run="adoption", at=AT)
    with pytest.raises(NeedsPerson, match="holds no unplanned failover from east to west"):
        abandonment(history, replace(adopted, epoch=2), "east")


def test_a_standby_to_which_was_fetched_is_compared_with_all_that_its_active_cluster_holds() -> None:
    """Else what it has copied since that cluster was opened would be on its list, and be published there again."""
    history: dict[str, dict[str, Any]] = {
        "adoption": {
            "flow_seed": seed("east", "west", 1, held=False),
            "flow_seed.north": seed("east", "north", 1, held=False),
        },
        "given up": {"claim": {"target": "west"}, "target_ends": {"ends": [["orders", 0, 40]]}},
    }
    state = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    for name in ("west", "north"):
        left = abandonment(history, state, name)
        assert (left.name, left.epoch, left.still_copied) == (f"adoption.{name}", 1, True)
    # West is opened, and dr_flows finds where north continues: then it is copied from west.
    history["disaster"] = {
        "claim": {"target": "west"},
        "flow_seed": seed("west", "east", 1003, held=True),
        "target_ends": {"ends": [["orders", 0, 40]]},
    }
    moved = transitions.adopted("orders", active="west", standbys=["east", "north"], run="adoption", at=AT)
    moved = replace(moved, epoch=1003)
    before = abandonment(history, moved, "north")
    assert (before.name, before.new_ends, before.still_copied) == ("disaster.north", {FIRST: 40}, False)
    history["disaster"]["flow_seed.north"] = seed("west", "north", 1003, held=False)
    since = abandonment(history, moved, "north")
    assert (since.name, since.still_copied, since.was_active) == ("disaster.north", True, False)
    assert not abandonment(history, moved, "east").still_copied


def test_a_failback_that_began_later_has_given_a_cluster_other_offsets() -> None:
    claim = {**FAILBACK["claim"], "target": "east", "epoch": 7}
    history = {"failback-1": {**FAILBACK, "claim": claim}, "failback-2": {"claim": {**claim, "epoch": 9}}}
    assert failback_since(history, "east", 6) == "failback-1"
    assert failback_since(history, "east", 7) == ""
    assert failback_since(history, "north", 6) == ""


def test_a_cluster_whose_copies_are_never_opened_was_left_where_these_ended() -> None:
    lost: dict[str, Any] = {"epoch": 1000, "active": "west", "standby": "east", "phase": Phase.DIVERGED}
    state = a_state(**lost, copies_named=".")
    rows = positions_to_json({TopicPartition("orders.payments", 0): 7})
    fact = {"epoch": 1000, "old": "east", "new": "west", "new_ends": rows}
    earlier = {**fact, "epoch": 900, "new_ends": []}
    left = abandonment({"lost": {LEFT_WITH_COPIES: fact}, "before": {LEFT_WITH_COPIES: earlier}}, state, "east")
    assert (left.run, left.epoch, left.old, left.new) == ("lost", 1000, "east", "west")
    assert left.new_ends == {TopicPartition("orders.payments", 0): 7}
    assert left.was_active
    with pytest.raises(NeedsPerson, match="holds no unplanned failover"):
        abandonment({"lost": {LEFT_WITH_COPIES: fact}}, a_state(**lost), "east")
