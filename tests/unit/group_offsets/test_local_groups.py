"""How many records groups that read on one member alone have left there."""

from __future__ import annotations

from kafka_dr.group_offsets.local_groups import in_words, left
from kafka_dr.positions import TopicPartition

FIRST, SECOND = TopicPartition("baskets", 0), TopicPartition("baskets", 1)


def test_what_is_left_is_added_up_by_group_and_who_has_read_all_is_not_named() -> None:
    committed = {"mails": {FIRST: 3, SECOND: 9}, "labels": {FIRST: 10, SECOND: 10}}
    found = left(committed, {FIRST: 10, SECOND: 10})
    assert found == ({"mails": 8}, ())
    assert in_words(*found) == "mails at most 8 records"


def test_an_offset_past_the_end_and_in_a_log_that_is_not_read_leave_nothing() -> None:
    assert left({"mails": {FIRST: 12, SECOND: 0}}, {FIRST: 10}) == ({}, ())


def test_a_group_without_an_offset_in_a_log_is_not_known_to_have_read_it() -> None:
    found = left({"mails": {FIRST: 10}, "labels": {}}, {FIRST: 10, SECOND: 5_000})
    assert found == ({}, ("labels", "mails"))
    assert "mails more than is known" in in_words(*found)
