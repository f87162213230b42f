"""Which groups would miss records because they read only one of two names."""

from __future__ import annotations

from kafka_dr.group_offsets.both_names import missed

COPIES = {"west.orders": "orders", "west.bills": "bills"}


def test_a_group_that_reads_both_names_or_neither_misses_nothing() -> None:
    assert list(missed({"a": {"orders", "west.orders"}, "b": set(), "c": {"elsewhere"}}, COPIES)) == []


def test_whoever_reads_one_of_them_is_named_with_the_other() -> None:
    found = list(missed({"a": {"orders"}, "b": {"west.bills", "bills", "west.orders"}}, COPIES))
    assert found == [("a", "orders", "west.orders"), ("b", "west.orders", "orders")]


def test_what_the_topology_says_of_a_group_counts() -> None:
    assert list(missed({"a": {"orders"}}, COPIES, declared=("a",))) == []
