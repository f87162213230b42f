"""A slow answer leaves a line in the log, so that a step that took long says where."""

from __future__ import annotations

import pytest

from kafka_dr.clusters.errors import SLOW_SECONDS, tell_if_slow


def test_only_a_slow_answer_is_told_with_the_cluster_and_the_question(caplog: pytest.LogCaptureFixture) -> None:
    tell_if_slow("east as audit", "read the ends of orders.payments", SLOW_SECONDS / 2)
    assert caplog.messages == []
    tell_if_slow("east as audit", "read the ends of orders.payments", 3.04)
    assert caplog.messages == ["east as audit: 3.0 s to read the ends of orders.payments"]
