"""How many records groups that read on one member alone have left there."""

from __future__ import annotations

from kafka_dr.group_offsets.local_groups import in_words, left
from kafka_dr.positions import TopicPartition

FIRST, SECOND = TopicPartition("baskets", 0), TopicPartition("baskets", 1)


def test_what_is_left_is_added_up_by_group_and_who_has_read_all_is_not_named() -> None:
    committed = {"mails": {FIRST: 3, SECOND: 9}, "labels": {FIRST: 10}}
    found = left(committed, {FIRST: 10, SECOND: 10})
    assert found == {"mails": 8}
    assert "mails at most 8 records" in in_words(found)


def test_an_offset_past_the_end_and_a_partition_without_an_end_leave_nothing() -> None:
    assert left({"mails": {FIRST: 12, SECOND: 0}}, {FIRST: 10}) == {}
