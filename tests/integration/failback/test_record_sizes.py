"""Records that the flow back to the old cluster could not copy are named before the failback begins."""

from __future__ import annotations

import pytest

from kafka_dr.runs.request import StepName
from support.failback_run import FailbackRun
from support.old_cluster import OldClusterGroup

pytestmark = pytest.mark.kafka


def test_the_preflight_names_topics_whose_records_may_be_too_large_for_the_flow_back(left: OldClusterGroup) -> None:
    protection, most = left.protection, 200 * 1024 * 1024
    left.write("east", 10)
    left.stop_flow()
    left.leave()
    left.fence_on_return()
    # The flow back reads the cluster that is active now.
    with protection.cluster("west", "admin") as west:
        assert not west.configs.set({protection.topic: {"max.message.bytes": str(most)}})
    refused = FailbackRun(protection, lambda: None).failed(StepName.PREFLIGHT)
    (found,) = (each for each in refused.checks if each.name == "records_fit")
    assert found.outcome == "warning"
    assert f"{protection.topic} ({most:,}) may hold larger ones" in found.detail
