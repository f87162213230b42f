from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.moving import flow_moves, flow_moves_in_turns
from support.manual_clock import ManualClock
from support.sentences import assert_sentence

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("before", "after", "ends", "verdict"),
    [
        ({ONE: 5}, {ONE: 9}, {ONE: 9}, "moves"),
        ({ONE: 5}, {ONE: 6}, {ONE: 9}, "moves"),
        ({}, {ONE: 1}, {ONE: 1}, "moves"),
        ({ONE: 9}, {ONE: 9}, {ONE: 9}, "idle"),
        ({}, {}, {ONE: 0}, "idle"),
        ({ONE: 5}, {ONE: 5}, {ONE: 9}, "stuck"),
        ({}, {}, {ONE: 9}, "stuck"),
        ({ONE: 5, TWO: 5}, {ONE: 9, TWO: 5}, {ONE: 9, TWO: 9}, "stuck"),
        ({ONE: 5, TWO: 9}, {ONE: 9, TWO: 9}, {ONE: 9, TWO: 9}, "moves"),
        ({ONE: 5}, {ONE: 3}, {ONE: 9}, "unknown"),
        ({ONE: 5}, {ONE: 5}, {}, "unknown"),
    ],
)
def test_a_flow_is_judged_by_its_progress(
    before: dict[TopicPartition, int], after: dict[TopicPartition, int], ends: dict[TopicPartition, int], verdict: str
) -> None:
    assert flow_moves(before, after, ends).verdict == verdict


def test_one_partition_that_does_not_move_is_named() -> None:
    found = flow_moves({ONE: 5, TWO: 5}, {ONE: 9, TWO: 5}, {ONE: 9, TWO: 9})
    assert_sentence(found.detail)


def in_turns(*later: dict[TopicPartition, int]) -> tuple[str, int]:
    """Return the verdict on a flow in which two partitions wait, and how often it was looked at."""
    looks = [*later]
    found = flow_moves_in_turns(
        {ONE: 5, TWO: 5},
        lambda: looks.pop(0) if len(looks) > 1 else looks[0],
        {ONE: 9, TWO: 9},
        clock=ManualClock(),
        seconds=3.0,
        pause_seconds=1.0,
    )
    return found.verdict, len(later) - len(looks) + 1


def test_while_a_flow_advances_each_partition_gets_its_turn() -> None:
    assert in_turns({ONE: 9, TWO: 5}, {ONE: 9, TWO: 5}, {ONE: 9, TWO: 6}) == ("moves", 3)


def test_a_partition_that_never_gets_its_turn_is_stuck_and_a_flow_that_copies_nothing_is_at_once() -> None:
    assert in_turns({ONE: 9, TWO: 5})[0] == "stuck"
    assert in_turns({ONE: 5, TWO: 5}, {ONE: 9, TWO: 9}) == ("stuck", 2)
