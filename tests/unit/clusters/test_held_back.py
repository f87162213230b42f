"""Which records after the first one of an open transaction are certain: by the batches and markers that follow."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from kafka_dr.clusters.held_back import BatchHeader, Holder, classified, held_back_in_words
from kafka_dr.positions import OffsetRange


def log(said: str, first: int = 7) -> list[BatchHeader]:
    """Write a log: ``.`` a record of no transaction, ``a`` of one, ``+a`` its commit, ``-a`` its abort."""
    found: list[BatchHeader] = []
    for at, each in enumerate(said.split(), first):
        offsets, producer = OffsetRange(at, at + 1), None if each == "." else ord(each[-1])
        ended = {"+": "committed", "-": "aborted"}.get(each[0])
        found.append(BatchHeader(offsets, producer, ended, at))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("said", "certain", "undecided"),
    [
        ("a . .", [8, 9], [7]),
        ("a b . +b b", [8, 9], [7, 11]),
        ("a b . -b . b +b", [9, 11, 12], [7]),
        ("a a +a a", [7, 8], [10]),
        # It began before the oldest open transaction: only its end is certain to be there.
        ("a b +b +c .", [8, 11], [7]),
    ],
)
def test_a_record_is_certain_unless_its_transaction_is_open_or_was_aborted(
    said: str, certain: list[int], undecided: list[int]
) -> None:
    headers = log(said)
    found = classified(OffsetRange(7, 7 + len(headers)), headers)
    assert [offset for each in found.acknowledged for offset in range(each.start, each.end)] == certain
    assert [offset for each in found.open_ranges for offset in range(each.start, each.end)] == undecided
    assert (found.not_read, found.oldest_ms) == (0, min(certain))


def test_every_record_is_certain_or_undecided_or_was_aborted_whatever_the_log() -> None:
    for said in map(" ".join, product((".", "a", "b", "+a", "-b"), repeat=5)):
        headers = log(said)
        found = classified(OffsetRange(7, 12), headers)
        counted = sum(map(len, (*found.acknowledged, *found.open_ranges)))
        markers = sum(each.ended is not None for each in headers)
        kept_b = "-b" not in said.split()
        assert counted <= 5 - markers
        assert counted == 5 - markers or not kept_b


def test_what_was_not_read_is_counted_in_offsets_and_never_as_nothing() -> None:
    found = classified(OffsetRange(7, 20), log("a . ."))
    assert found.not_read == 10
    assert classified(OffsetRange(7, 20), []).not_read == 13
    assert held_back_in_words(0, 0, 13, ()) == (
        "at most 13 more that nobody could count are held back by an open transaction"
    )


def test_of_a_batch_that_begins_before_the_last_stable_offset_only_the_rest_counts() -> None:
    assert classified(OffsetRange(7, 9), [BatchHeader(OffsetRange(4, 9))]).acknowledged == (OffsetRange(7, 9),)


def test_who_holds_records_back_is_named_by_transactional_id_or_else_by_the_id_of_the_producer() -> None:
    since = datetime(2026, 11, 27, 3, tzinfo=UTC)
    assert str(Holder(5, "orders-sink", since)) == "orders-sink since 2026-11-27 03:00:00 UTC"
    assert str(Holder(5, None, None)) == "the producer with the id 5"
    said = held_back_in_words(1, 0, 0, [str(Holder(n, f"t-{n}", None)) for n in range(5)])
    assert said == "1 acknowledged record is held back by the open transactions of t-0, t-1, t-2 and 2 more"
