"""Quarantined ranges, and how an unplanned failover left the old cluster."""

from __future__ import annotations

import pytest

from kafka_dr.errors import NeedsPerson
from kafka_dr.positions import TopicPartition
from kafka_dr.register import Phase
from kafka_dr.register.abandonment import abandonment
from kafka_dr.register.quarantine import QuarantinedRange, quarantine_fact, quarantined
from support.register_states import a_state

RANGE = QuarantinedRange("orders.pay-ments", 3, 100, 120)
STATE = a_state(epoch=1000, phase=Phase.DIVERGED, active="west", standby="east", verb="unplanned_failover", run="u")
NO_POSITIONS: dict[str, object] = {"source_positions": [], "target_positions": []}


def a_seed(source: str, target: str, epoch: int, *, held: bool) -> dict[str, object]:
    return {"source": source, "target": target, "epoch": epoch, "held": held, **NO_POSITIONS}


def test_a_range_is_read_as_it_is_written_even_if_the_topic_has_a_hyphen() -> None:
    assert str(RANGE) == "orders.pay-ments-3:100-120"
    assert QuarantinedRange.parse(str(RANGE)) == RANGE


@pytest.mark.parametrize(
    "text", ["", "orders-3", "orders-3:5", "orders-3:9-5", "-3:5-9", "orders-x:5-9", "orders-3:a-b"]
)
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(NeedsPerson, match="is not a quarantined range"):
        QuarantinedRange.parse(text)


def test_ranges_apply_to_their_cluster_while_the_topic_id_is_the_same() -> None:
    history = {"home": {"quarantine": quarantine_fact("east", [RANGE], {RANGE.topic: "id-1", "other": "id-2"})}}
    assert quarantined(history, "east", {RANGE.topic: "id-1"}) == (RANGE,)
    assert quarantined(history, "west", {RANGE.topic: "id-1"}) == ()
    assert quarantined(history, "east", {RANGE.topic: "id-9"}) == ()
    assert quarantined(history, "east", {}) == ()


def test_the_newest_unplanned_run_says_how_the_old_cluster_was_left() -> None:
    ends = {"ends": [["orders.payments", 0, 40]]}
    history = {
        "long ago": {"flow_seed": a_seed("west", "east", 1, held=True), "target_ends": {"ends": []}},
        "u": {"flow_seed": a_seed("west", "east", 1000, held=True), "target_ends": ends},
        "planned": {"flow_seed": a_seed("west", "east", 999, held=False), "target_ends": {"ends": []}},
        "other way": {"flow_seed": a_seed("east", "west", 1000, held=True), "target_ends": {"ends": []}},
        "later": {"flow_seed": a_seed("west", "east", 2000, held=True), "target_ends": {"ends": []}},
    }
    left = abandonment(history, STATE, "east")
    assert (left.run, left.old, left.new) == ("u", "east", "west")
    assert left.new_ends == {TopicPartition("orders.payments", 0): 40}
    with pytest.raises(NeedsPerson, match="holds no unplanned failover from east to west"):
        abandonment({"planned": history["planned"]}, STATE, "east")
