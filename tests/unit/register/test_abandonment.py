from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.register.abandonment import failback_changed_it_since

#: As a failback journals it.
FAILBACK: dict[str, Any] = {
    "claim": {"verb": "failback", "left_by": "disaster-1", "mode": "rebuild"},
    "rebuild": {"cluster": "east", "epoch": 7},
    "old_cluster_prepared": {"mode": "rebuild", "old_ends": [["orders", 0, 12]], "deletes": []},
}


@pytest.mark.parametrize(
    ("left_by", "others", "changed"),
    [("disaster-1", "", True), ("disaster-1", "failback-1", False), ("disaster-2", "", False)],
)
def test_a_failback_that_prepared_it_has_changed_the_old_cluster(left_by: str, others: str, changed: bool) -> None:
    history = {"disaster-1": {"target_ends": {"ends": []}}, "failback-1": FAILBACK}
    assert failback_changed_it_since(history, left_by, by_others_than=others) is changed


def test_a_failback_that_has_only_claimed_the_group_has_changed_nothing() -> None:
    history = {"failback-1": {"claim": FAILBACK["claim"]}}
    assert not failback_changed_it_since(history, "disaster-1")
