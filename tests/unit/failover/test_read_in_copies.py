"""How far a group has certainly read originals, by offset syncs of the copies that it has read: never too far."""

from __future__ import annotations

import random

import pytest

from kafka_dr.failover.unplanned.read_in_copies import after
from kafka_dr.positions import OffsetPair

#: Records of the one log with their copies in the other one.
PAIRS = [OffsetPair(0, 0), OffsetPair(10, 12), OffsetPair(30, 40)]


@pytest.mark.parametrize(
    ("position", "expected"), [(0, 0), (1, 1), (10, 12), (11, 13), (29, 13), (30, 40), (31, 41), (99, 41)]
)
def test_whoever_has_read_before_a_position_continues_after_the_last_pair_below_it(
    position: int, expected: int
) -> None:
    assert after(PAIRS, position) == expected


def test_without_a_pair_below_everything_is_read() -> None:
    assert after([], 5) == 0
    assert after([OffsetPair(7, 9)], 5) == 0


def test_in_random_histories_nobody_is_placed_past_an_unread_record_there_and_on() -> None:
    """Of any two logs with the same records, with some pairs known, by way of one log or of two."""
    chance = random.Random(37)  # noqa: S311
    for _ in range(300):
        records = range(chance.randint(1, 40))
        logs = [_log(chance, len(records)) for _ in range(3)]
        known = [sorted(chance.sample(records, chance.randint(0, len(records)))) for _ in range(2)]
        pairs = [[OffsetPair(logs[n][each], logs[n + 1][each]) for each in chosen] for n, chosen in enumerate(known)]
        read = chance.randint(0, len(records))
        position = logs[0][read - 1] + 1 if read else 0
        first = after(pairs[0], position)
        second = after(pairs[1], first)
        for log, at in ((logs[1], first), (logs[2], second)):
            unread = [offset for offset in log[read:] if offset < at]
            assert not unread


def _log(chance: random.Random, count: int) -> list[int]:
    """Return the offsets of records in a log, which has other records, or markers, between them."""
    offsets, at = [], 0
    for _ in range(count):
        at += chance.choice((0, 0, 0, 1, 3))
        offsets.append(at)
        at += 1
    return offsets
