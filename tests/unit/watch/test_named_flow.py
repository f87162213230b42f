"""What looks at a flow names it: after a move it says nothing of the flow that runs since."""

from __future__ import annotations

import pytest

from kafka_dr.canary.probe import CanaryReport
from kafka_dr.canary.record import CanaryFlow
from kafka_dr.canary.verdict import CanaryVerdict
from kafka_dr.watch.canary_check import canary_result
from kafka_dr.watch_results import KeptResult, watched_group
from support.kept_metrics import NOON, kept


@pytest.mark.parametrize(("active", "is_known"), [("east", True), ("west", False)])
def test_canaries_of_the_flow_before_a_move_are_unknown_after_it(active: str, is_known: bool) -> None:
    report = CanaryReport(CanaryFlow("orders", "east", "west", 1), NOON, 4, 4, 0.9, CanaryVerdict(()))
    found = canary_result("orders", report)
    canary = KeptResult("orders", "canary", "ok", found.sentences, NOON, facts=dict(found.facts))
    health = kept("orders", "health", facts={"active": active})
    now = watched_group("orders", {"health": health, "canary": canary}, NOON).of("canary")
    assert (now.outcome == "ok") is is_known
    assert ("west has become active since" in now.reason) is not is_known
