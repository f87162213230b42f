"""Which positions need no translation before an approval is asked for: the answer must not change from look to look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_dr.audit.finding import FindingKind, FirstDifference, Verified
from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets.verification import matched_for

FRONTIER = Verified(TopicPartition("orders", 0), source_offset=2000, target_offset=1950, records=1500, finding=None)


@pytest.mark.parametrize("offset", [0, 1999, 2000, 2040])
def test_if_the_target_holds_everything_each_offset_has_one_translation(offset: int) -> None:
    assert matched_for(offset, FRONTIER, deleted=0)


def test_a_group_at_the_head_is_no_less_sure_where_the_target_has_deleted_what_was_read_long_ago() -> None:
    assert matched_for(2000, FRONTIER, deleted=500)
    assert matched_for(2040, FRONTIER, deleted=500)


def test_a_group_before_the_frontier_may_not_have_read_what_the_target_has_deleted() -> None:
    assert not matched_for(1999, FRONTIER, deleted=500)


def test_nor_is_anything_sure_where_the_target_has_deleted_more_than_was_matched() -> None:
    assert not matched_for(2040, FRONTIER, deleted=1951)


def test_nor_where_the_copy_was_found_to_differ() -> None:
    found = FirstDifference(FindingKind.LOST, FRONTIER.partition, 2000, 1950, 1, "one record is missing")
    assert not matched_for(1000, replace(FRONTIER, finding=found), deleted=0)
