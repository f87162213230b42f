from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.errors import NeedsPerson
from kafka_dr.group_offsets.last_look import FileLookStore, LastLook, shortened, usual_per_second
from kafka_dr.group_offsets.other_topics import Elsewhere
from kafka_dr.positions import OffsetRange, TopicPartition
from kafka_dr.readers.recognition import StreamsApplication

AT = datetime(2026, 11, 20, 3, tzinfo=UTC)
P, Q = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
LOOK = LastLook(
    4,
    AT,
    {P: 12, Q: 7},
    {"orders-a": {P: 9}, "orders-b": {}},
    {P: (9, 11), Q: (6,)},
    ("orders-c shares",),
    (Elsewhere("orders-a", "stock.items", {0: 3, 1: 0}, live=True),),
    ("orders-d is hidden",),
    share_starts={"orders-s": {P: 4}},
    streams=(StreamsApplication("orders-t", "as its members say", ("orders.payments",), ("orders-t-c-changelog",)),),
)
#: After the last committed records, a transaction of the sink holds back 30 records of others, and two of its own.
HELD = replace(
    LOOK,
    ends={P: 44, Q: 7},
    held_back={P: (OffsetRange(13, 40), OffsetRange(41, 44))},
    undecided={P: (OffsetRange(12, 13), OffsetRange(40, 41))},
    held_by=("orders-sink since 2026-11-20 02:58:00 UTC",),
)  # fmt: skip


def test_a_look_is_read_as_it_was_kept_and_the_newest_replaces_the_one_before(tmp_path: Path) -> None:
    store = FileLookStore(tmp_path, "orders")
    assert store.read("east-to-west") is None
    store.write("east-to-west", LastLook(3, AT, {}, {}, {}))
    store.write("east-to-west", LOOK)
    assert store.read("east-to-west") == LOOK
    assert store.read("west-to-east") is None


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema_version": 9}', b'{"schema_version": 1}'])
def test_one_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path, content: bytes) -> None:
    store = FileLookStore(tmp_path, "orders")
    store.write("east-to-west", LOOK)
    (tmp_path / "last_looks" / "orders" / "east-to-west.json").write_bytes(content)
    with pytest.raises(NeedsPerson, match="cannot be read"):
        store.read("east-to-west")


@pytest.mark.parametrize(
    ("before", "seconds", "usual"),
    [
        ({}, 60, 0.05),  # P wrote three records; the partitions that nobody saw before do not count
        ({"usual_per_second": 10.0}, 360, 9.001),  # a tenth of an hour weighs a tenth
        ({"usual_per_second": 10.0}, 7200, 0.0),
        ({"usual_per_second": 10.0}, 0, 10.0),
        ({"usual_per_second": 10.0, "epoch": 3}, 60, None),
        ({"ends": {P: 99}}, 60, 0.0),  # the topic was created again
    ],
)
def test_the_usual_rate_is_a_mean_in_which_an_hour_weighs_most(
    before: dict[str, Any], seconds: float, usual: float | None
) -> None:
    earlier = replace(LOOK, **{"at": AT - timedelta(seconds=seconds), "ends": {P: 9}, **before})
    assert usual_per_second(earlier, LOOK) == usual


def test_what_was_seen_and_not_copied_is_certainly_lost() -> None:
    assert LOOK.certainly_lost({P: 0, Q: 0}) == 3
    assert LOOK.certainly_lost({P: 10, Q: 7}) == 1
    assert LOOK.certainly_lost({P: 12, Q: 7}) == 0
    # A partition does not count if it is not known what was copied of it.
    assert LOOK.certainly_lost({P: 0}) == 2


def test_acknowledged_records_after_an_open_transaction_are_lost_and_its_own_only_perhaps() -> None:
    assert HELD.not_copied == LOOK.not_copied + 30
    assert HELD.certainly_lost({P: 12, Q: 7}) == 30
    assert HELD.certainly_lost({P: 39, Q: 7}) == 4, "the flow has copied some of them since"
    assert HELD.certainly_lost({Q: 6}) == 1
    assert HELD.not_known_of({Q: 6}) == {P}
    assert HELD.held_in_words({P: 44, Q: 7}) == ""
    assert HELD.held_in_words({P: 41, Q: 7}) == (
        "3 acknowledged records are held back by the open transaction of orders-sink since 2026-11-20 02:58:00 UTC"
    )
    assert HELD.held_in_words().startswith("30 acknowledged records and 2 records that may still be aborted are held")


def test_a_look_keeps_what_was_held_back_and_who_held_it_back(tmp_path: Path) -> None:
    store = FileLookStore(tmp_path, "orders")
    store.write("east-to-west", HELD)
    assert store.read("east-to-west") == HELD


def test_what_was_not_counted_is_named_and_never_none() -> None:
    seen = replace(LOOK, uncounted=frozenset({Q}))
    assert LOOK.not_known_of({P: 0, Q: 0}) == frozenset()
    assert seen.not_known_of({P: 12, Q: 6}) == {Q}
    assert seen.not_known_of({P: 12, Q: 7}) == frozenset(), "everything that was there is copied now"
    assert LOOK.not_known_of({P: 0}) == {Q}, "records were seen there, and nobody knows which are copied"


def test_a_look_keeps_which_partitions_it_could_not_count(tmp_path: Path) -> None:
    store = FileLookStore(tmp_path, "orders")
    store.write("east-to-west", replace(LOOK, uncounted=frozenset({Q})))
    assert (store.read("east-to-west") or LOOK).uncounted == {Q}


def test_of_many_long_tails_only_so_much_is_read_as_a_look_may_take_and_of_each_something() -> None:
    tails = {TopicPartition("t", number): OffsetRange(7, 5_007) for number in range(3_000)}
    assert sum(map(len, shortened(tails).values())) <= 50_000
    assert {tail.start for tail in shortened(tails).values()} == {7}
    assert min(map(len, shortened(tails).values())) >= 1
    assert shortened({P: OffsetRange(7, 5_007), Q: OffsetRange(3, 4)}) == {
        P: OffsetRange(7, 1_007),
        Q: OffsetRange(3, 4),
    }
