"""The sentence about transactions that keep a take over waiting."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka_dr.adoption.take_over.open_on_source import waits_for
from kafka_dr.clusters import OpenTransaction, TopicPartition

P, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 7)


def opened(transactional_id: str, partition: TopicPartition, minute: int | None) -> OpenTransaction:
    began = None if minute is None else datetime(2026, 3, 1, 12, minute, tzinfo=UTC)
    return OpenTransaction(transactional_id, 1, "Ongoing", frozenset({partition}), began, 900.0)


def said(*transactions: OpenTransaction) -> str:
    return waits_for(transactions, {P: 1_200}, source="east", target="west", offsets=1_500)


def test_the_oldest_transactions_are_named_with_what_to_do_and_others_are_not() -> None:
    found = said(*(opened(f"tx-{n}", P, 59 - n) for n in range(5)), opened("elsewhere", OTHER, 0))
    assert "1,500 offsets of west cannot be compared" in found
    assert "the transactional id tx-4 (Ongoing since 2026-03-01 12:55:00 UTC, timeout 15 min); the trans" in found
    assert "tx-1" not in found
    assert "elsewhere" not in found
    assert "and 2 more" in found
    assert "orders-0 from offset 1200 on" in found
    assert "commit or abort them" in found


def test_a_transaction_that_nobody_lists_may_hang_and_a_time_that_is_not_known_is_left_out() -> None:
    assert "find-hanging" in said(opened("elsewhere", OTHER, 0))
    assert "the transactional id tx (Ongoing, timeout 15 min)" in said(opened("tx", P, None))
