"""What a position on the target does to a group, against a group that really reads the copy from there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kafka_dr.observation.groups import CopiedPartition, ExistingPositions, PositionCost, by_group, positions_of
from kafka_dr.positions import CommittedOffset, TopicPartition
from support.seen_logs import PARTITION, compared, log, numbered, seen


def delivered(copy: list[int], begin: int, position: int) -> tuple[int, int]:
    """Read the copy from an offset as an application does; contents are the offsets of the source."""
    again, had = 0, set(range(position))
    for content in copy[begin:]:
        again += content in had
        had.add(content)
    return again, len(set(copy) - had)


@pytest.mark.parametrize("seed", range(60))
def test_the_cost_is_what_a_group_that_reads_from_there_sees(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a test that can be repeated
    size = 60
    copy = [n for n in range(size) if random.random() > 0.05]
    for _ in range(3):
        begin = random.randrange(10, len(copy))
        copy[begin:begin] = copy[begin - 5 : begin]
    found = CopiedPartition(compared(numbered(range(size)), numbered(copy)))

    for position in (0, 17, 40, size):
        exact = found.exact(position)
        assert exact is not None
        assert delivered(copy, exact, position)[1] == 0
        if exact < len(copy):
            assert delivered(copy, exact + 1, position) != delivered(copy, exact, position)
        for begin in range(0, len(copy) + 1, 7):
            assert found.cost(position, begin) == PositionCost(*delivered(copy, begin, position))


def test_a_position_before_what_was_read_is_unknown() -> None:
    newest = log((seen(n, n) for n in range(40, 60)), read_from=40)
    found = CopiedPartition(compared(newest, newest))

    assert (found.exact(30), found.cost(30, 30)) == (None, PositionCost(None, None))
    assert found.cost(50, 30) == PositionCost(None, 0)
    assert found.cost(50, 45) == PositionCost(5, 0)


def test_unread_records_that_the_target_has_deleted_are_skipped() -> None:
    target = log((seen(n, n) for n in range(10, 20)), held_from=10)
    found = CopiedPartition(compared(numbered(range(20)), target))

    assert found.cost(4, 10) == PositionCost(0, 6)
    assert found.cost(12, 12) == PositionCost(0, 0)


def test_what_a_failover_would_use_is_what_was_committed_there_else_the_checkpoint() -> None:
    other = TopicPartition("orders", 1)
    found = compared(numbered(range(20)), numbered(range(20)))
    rows = positions_of(
        {"a": {PARTITION: 10}, "b": {PARTITION: 10}, "c": {PARTITION: 10, other: 3}},
        ExistingPositions({"a": {PARTITION: 8}}, {"a": {PARTITION: 1}, "b": {PARTITION: 15}, "c": {other: 3}}),
        {PARTITION: found},
    )

    said = [(r.group, r.used, r.begin, r.cost, r.verdict) for r in rows]
    assert said == [
        ("a", "committed", 8, PositionCost(2, 0), "warning"),
        ("b", "checkpoint", 15, PositionCost(0, 5), "failed"),
        ("c", "nothing", None, PositionCost(None, None), "failed"),
        ("c", "checkpoint", 3, PositionCost(None, None), "unknown"),
    ]
    assert [(row["group"], row["verdict"], row["skipped"]) for row in by_group(rows)] == [
        ("a", "warning", 0),
        ("b", "failed", 5),
        ("c", "failed", None),
    ]


def test_where_the_target_never_held_a_record_every_position_is_the_same() -> None:
    (row,) = positions_of(
        {"a": {PARTITION: 0}}, ExistingPositions({}, {}), {PARTITION: compared(numbered([]), numbered([]))}
    )

    assert (row.verdict, row.cost) == ("ok", PositionCost(0, 0))


@pytest.mark.parametrize(
    "unseen",
    [{"unread_groups": ["a"]}, {"hidden": ["orders"]}, {"all_checkpoints": False}],
    ids=lambda each: str([*each]),
)
def test_a_position_that_nobody_may_see_is_not_one_that_is_missing(unseen: dict[str, Any]) -> None:
    equal = {PARTITION: compared(numbered(range(20)), numbered(range(20)))}
    (row,) = positions_of({"a": {PARTITION: 10}}, ExistingPositions({}, {}, **unseen), equal)

    assert (row.used, row.verdict) == ("unknown", "unknown")
    assert by_group([row])[0]["partitions_without_position"] == 0
    (row,) = positions_of({"a": {PARTITION: 10}}, ExistingPositions({}, {}), equal)
    assert (row.used, row.verdict) == ("nothing", "failed")


@pytest.mark.parametrize(
    ("on_target", "copy", "found"),
    [
        (CommittedOffset(10, "note"), list(range(20)), "right"),
        (CommittedOffset(10, "other"), list(range(20)), "wrong"),
        (10, list(range(20)), "wrong"),
        (CommittedOffset(9, "note"), list(range(20)), "wrong"),
        (CommittedOffset(10, "note"), [*range(12), 11, *range(12, 20)], "wrong"),
    ],
)
def test_commit_metadata_is_right_where_the_offset_and_the_records_after_it_are(
    on_target: int, copy: list[int], found: str
) -> None:
    (row,) = positions_of(
        {"a": {PARTITION: CommittedOffset(10, "note")}},
        ExistingPositions({"a": {PARTITION: on_target}}, {}),
        {PARTITION: compared(numbered(range(20)), numbered(copy))},
    )
    assert row.metadata == found
    assert by_group([row])[0]["metadata_wrong"] == (found == "wrong")
    assert (row.verdict == "ok") == (found == "right")
