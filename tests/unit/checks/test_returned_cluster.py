"""How many records of a returned cluster are not known to be copied."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.checks.returned_cluster import _frontier, count_on_returned, count_uncopied
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from support.memory_cluster import MemoryCluster, numbered

ONE, TWO = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)


def test_records_after_the_frontier_and_after_the_opening_are_counted() -> None:
    found = count_uncopied({ONE: 120, TWO: 80}, starts={}, frontier={ONE: 100, TWO: 80}, opening={ONE: 115})
    assert (found.beyond_frontier, found.since_opening) == (20, 5)


def test_a_partition_that_was_never_copied_counts_from_its_log_start_offset() -> None:
    assert count_uncopied({ONE: 50}, starts={ONE: 10}, frontier={}, opening={}).beyond_frontier == 40


def test_what_expired_before_the_fence_is_counted_apart_and_called_unknown() -> None:
    found = count_uncopied({ONE: 120, TWO: 80}, starts={ONE: 110, TWO: 80}, frontier={ONE: 100, TWO: 80}, opening={})
    assert (found.beyond_frontier, found.expired) == (10, 10)
    assert "10 records had expired there before, and it is not known" in found.sentence
    copied = count_uncopied({ONE: 120}, starts={ONE: 90}, frontier={ONE: 100}, opening={})
    assert (copied.beyond_frontier, copied.expired, "expired" in copied.sentence) == (20, 0, False)


def test_an_unknown_frontier_and_opening_stay_unknown() -> None:
    found = count_uncopied({ONE: 50}, starts={ONE: 0}, frontier=None, opening=None)
    assert (found.beyond_frontier, found.since_opening) == (None, None)
    assert found.sentence.count("unknown") == 2


def test_the_frontier_is_known_by_content_or_by_the_offsets_committed_with_the_copies() -> None:
    rows = [["orders.payments", 0, 7], ["orders.payments", 1, 9]]
    assert _frontier({"frontier": rows, "copied": [["orders.payments", 0, 12]]}) == {ONE: 12, TWO: 9}
    assert _frontier({"frontier": [], "copied": []}) is None


def test_a_fact_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(NeedsPerson):
        _frontier({"rows": []})


def test_a_transaction_that_nobody_could_end_hides_no_record_from_the_count() -> None:
    east = MemoryCluster("east", "E", {ONE.topic: [numbered(ONE.topic, range(50)), []]}, open_from={ONE: 20})
    context: Any = SimpleNamespace(operator=lambda _: east, partitions=lambda _: [ONE, TWO])
    journal = {"unverified": {"frontier": [], "copied": [[ONE.topic, 0, 20]]}}
    found = count_on_returned(context, "east", journal)
    assert (found.ends[ONE], found.beyond_frontier) == (50, 30)
