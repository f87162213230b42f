"""A slow answer is logged, so that the log shows what a slow step waited for."""

from __future__ import annotations

import pytest

from kafka_dr.clusters.errors import SLOW_SECONDS, log_if_slow


def test_only_a_slow_answer_is_logged_with_the_cluster_and_the_request(caplog: pytest.LogCaptureFixture) -> None:
    log_if_slow("east as audit", "read the ends of orders.payments", SLOW_SECONDS / 2)
    assert caplog.messages == []
    log_if_slow("east as audit", "read the ends of orders.payments", 3.04)
    assert caplog.messages == ["east as audit: it took 3.0 s to read the ends of orders.payments"]
