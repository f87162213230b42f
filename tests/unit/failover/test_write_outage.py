"""How long writes were not possible: it is known only when every partition that was being written is written again."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.failover.write_outage import WriteOutage, being_written, judge
from support.sentences import assert_sentence

_BUSY, _BUSY_TOO, _IDLE = (TopicPartition("orders.payments", number) for number in range(3))
_FENCE = 1_000_000.0
_REFUSED = 2.0
_PROMISED = 10.0


def outage(last: dict[TopicPartition, float | None], first: dict[TopicPartition, float]) -> WriteOutage:
    busy = being_written(last, fence=_FENCE, recent_seconds=_PROMISED)
    return judge(last, first, busy, refused_seconds=_REFUSED)


def test_it_is_the_longest_pause_of_the_partitions_that_were_being_written() -> None:
    found = outage({_BUSY: _FENCE - 0.1, _BUSY_TOO: _FENCE - 1}, {_BUSY: _FENCE + 3, _BUSY_TOO: _FENCE + 3.5})
    assert found.seconds == found.seen_seconds == pytest.approx(4.5)
    assert str(_BUSY_TOO) in found.detail


def test_an_idle_partition_says_nothing_about_the_outage() -> None:
    found = outage({_BUSY: _FENCE - 0.1, _IDLE: _FENCE - 3600}, {_BUSY: _FENCE + 3, _IDLE: _FENCE + 3600})
    assert found.seconds == pytest.approx(3.1)


def test_it_is_unknown_while_one_partition_that_was_being_written_is_silent() -> None:
    found = outage({_BUSY: _FENCE - 0.1, _BUSY_TOO: _FENCE - 0.1}, {_BUSY: _FENCE + 3})
    assert found.seconds is None
    assert found.refused_seconds == _REFUSED
    assert_sentence(found.detail)


def test_it_is_unknown_if_only_control_records_were_found_before_the_fence() -> None:
    assert outage({_BUSY: None}, {_BUSY: _FENCE + 3}).seconds is None


def test_with_nobody_writing_it_is_the_time_in_which_both_clusters_refused() -> None:
    found = outage({_IDLE: _FENCE - 3600}, {})
    assert (found.seconds, found.seen_seconds) == (_REFUSED, None)


def test_a_wrong_clock_does_not_make_it_shorter_than_the_time_in_which_both_clusters_refused() -> None:
    assert outage({_BUSY: _FENCE + 60}, {_BUSY: _FENCE + 3}).seconds == _REFUSED
