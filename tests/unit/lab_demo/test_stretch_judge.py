"""What the demo of a stretch cluster calls right: a prediction that came true, and no acknowledged record missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from lab.demo.stretch.happened import PartitionNow
from lab.demo.stretch.judge import JudgedPartition, losses, outcome, wrong_leaders, wrong_load
from lab.demo.stretch.placed import topics_for
from lab.demo.stretch.rehearsal import StretchOutcome
from lab.demo.stretch.screen import closing

LED, NOT_LED = PartitionNow(1, (1, 2), (1,)), PartitionNow(None, (3,), ())
RIGHT = JudgedPartition(("t", 0), "continues", "continues", 1, 1, 9.5, 100, 0, 0)


@pytest.mark.parametrize(
    ("now", "tried", "acknowledged", "expected"),
    [
        (LED, "written", 5, "continues"),
        (LED, "NOT_ENOUGH_REPLICAS", 0, "refuses"),
        (LED, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 0, "refuses"),
        (NOT_LED, "not tried", 0, "stops"),
        (LED, "written", 0, "written, but not by its writer"),
        (LED, "NOT_ENOUGH_REPLICAS", 5, "refused, but not to its writer"),
        (NOT_LED, "not tried", 5, "acknowledged without a leader"),
        (LED, "_MSG_TIMED_OUT", 0, "_MSG_TIMED_OUT"),
    ],
)
def test_what_became_of_a_partition(now: PartitionNow, tried: str, acknowledged: int, expected: str) -> None:
    assert outcome(now, tried, acknowledged) == expected


def test_a_prediction_that_did_not_come_true_or_a_lost_record_is_wrong() -> None:
    assert RIGHT.right
    for wrong in ({"happened": "stops"}, {"leader": 2}, {"lost": 1}, {"doubled": 1}):
        assert not replace(RIGHT, **wrong).right, wrong


def test_each_acknowledged_record_has_to_be_there_once() -> None:
    assert losses({1: 0.0, 2: 0.0, 3: 0.0}, Counter({1: 1, 3: 2, 4: 1})) == (1, 1)
    assert losses({}, Counter()) == (0, 0)


def test_leaders_and_load_that_are_not_as_predicted_are_named() -> None:
    row = {"topic": "t", "partition": 0, "leader_after": 1}
    predicted = {"partitions": [row], "load": [{"broker": 1, "leaders_after": 1}, {"broker": 2, "leaders_after": 0}]}
    moved = PartitionNow(2, (1, 2), (2,))
    assert (wrong_leaders(predicted, {("t", 0): LED}), wrong_load(predicted, {("t", 0): LED})) == ([], [])
    assert wrong_leaders(predicted, {("t", 0): moved}) == ["t-0: predicted 1, led by 2"]
    assert wrong_load(predicted, {("t", 0): moved, ("other", 0): LED}) == [
        "broker 1: predicted 1 partitions, leads 0",
        "broker 2: predicted 0 partitions, leads 1",
    ]


def test_the_topics_hold_every_kind_of_placement_whichever_site_is_lost() -> None:
    sites = {"site-a": (1, 4), "site-b": (2, 5), "site-c": (3, 6)}
    for lost in sites:
        placed = {each.name: each.replicas for each in topics_for(sites, lost)}
        assert all(len({broker % 3 for broker in row}) == 3 for row in placed["stretch.well-placed"])
        assert {*placed["stretch.one-site"][0]} == {*sites[lost]}


def test_an_outcome_with_anything_wrong_is_not_good() -> None:
    good = StretchOutcome("site-c", (RIGHT,), (), ())
    assert (good.good, "Every prediction was right" in closing(good)) == (True, True)
    for bad in (replace(good, wrong=("x",)), replace(good, judged=(replace(RIGHT, lost=1),)), replace(good, judged=())):
        assert not bad.good
    assert "1 things were not as predicted" in closing(replace(good, wrong=("x",)))
