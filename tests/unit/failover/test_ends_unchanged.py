"""Before a hand-over both logs end where it was journaled, and nothing that was journaled has gone."""

from __future__ import annotations

import pytest

from kafka_dr.checks.log_ends import ends_unchanged
from kafka_dr.outcomes import Check
from kafka_dr.positions import TopicPartition
from support.sentences import assert_sentence

ONE, TWO, NEW = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("orders", 2)
JOURNALED = {ONE: 7, TWO: 0}


def asked(now: dict[TopicPartition, int]) -> Check:
    return ends_unchanged("still", JOURNALED, now, about="on west since the fence", moved="Stop the writer")


@pytest.mark.parametrize("now", [JOURNALED, {**JOURNALED, NEW: 0}])
def test_logs_that_end_where_it_was_journaled_pass_and_a_new_empty_one_with_them(
    now: dict[TopicPartition, int],
) -> None:
    found = asked(now)
    assert (found.name, found.outcome, dict(found.facts)) == ("still", "ok", {})
    assert_sentence(found.detail)


@pytest.mark.parametrize(
    ("now", "named"),
    [({ONE: 8, TWO: 0}, ONE), ({ONE: 6, TWO: 0}, ONE), ({ONE: 7, TWO: 1}, TWO), ({**JOURNALED, NEW: 1}, NEW)],
)
def test_a_log_that_ends_elsewhere_is_named(now: dict[TopicPartition, int], named: TopicPartition) -> None:
    found = asked(now)
    assert (found.name, found.outcome, str(named) in found.detail) == ("still", "failed", True)
    assert_sentence(found.detail)


@pytest.mark.parametrize("gone", [ONE, TWO])
def test_a_partition_that_has_gone_is_not_taken_for_one_that_has_not_moved(gone: TopicPartition) -> None:
    found = asked({p: end for p, end in JOURNALED.items() if p != gone})
    assert found.outcome == "failed"
    assert_sentence(found.detail)
