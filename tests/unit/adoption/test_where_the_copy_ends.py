"""What is journaled of the comparison of a copy, and the proof that it has reached the end."""

from __future__ import annotations

import pytest

from kafka_dr.adoption.take_over.tail import PartitionTail, TailFault
from kafka_dr.adoption.take_over.verify_tail import copy_is_compared, where_the_copy_ends
from kafka_dr.codec import decode
from kafka_dr.named_rows import positions_from_json
from kafka_dr.positions import CountedRange, SeedPoint, TopicPartition
from kafka_dr.register.taken_over import SECOND_COPIES, Ranges

P, EMPTY = TopicPartition("orders", 0), TopicPartition("orders.new", 0)


@pytest.mark.parametrize(
    ("compared", "now", "outcome"), [(15, 15, "ok"), (10, 15, "failed"), (15, 16, "failed"), (16, 15, "failed")]
)
def test_the_proof_asks_the_comparison_and_not_the_ends_that_it_was_meant_to_reach(
    compared: int, now: int, outcome: str
) -> None:
    begins = where_the_copy_ends({P: PartitionTail(SeedPoint(9, compared), 9)})
    # A partition that only the standby has, and that is empty, holds nothing to compare.
    found = copy_is_compared(begins, {P: 15, EMPTY: 0}, {P: now, EMPTY: 0}, cluster="west")
    assert found.outcome == outcome
    assert (str(P) in found.detail) == (outcome == "failed")
    assert positions_from_json(begins["on_source"]) == {P: 9}


def test_second_copies_of_the_tail_are_journaled_with_it() -> None:
    fault = TailFault("duplicated", P, None, 12, 2)
    begins = where_the_copy_ends(
        {P: PartitionTail(SeedPoint(9, 15), 9, (fault,)), EMPTY: PartitionTail(SeedPoint(0, 0), 0)}
    )
    assert decode(Ranges, begins[SECOND_COPIES]) == {P: (CountedRange(12, 15, 2),)}
