"""A planned failover passes clusters that were left before, if they refuse writes and no failback of them was begun."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from kafka_dr.errors import TryAgain
from kafka_dr.failover.planned import left_clusters
from kafka_dr.failover.planned.left_clusters import left_clusters_refuse
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import transitions
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from support.register_states import AT

SIGNED: dict[str, Any] = {"run": "disaster", "evidence_sha256": "", "approved_by": "alice", "at": AT}


class LeftEast:
    """A group that has left east, which is back and fenced; west is active, north is copied from it."""

    def __init__(self, answer: Check | Exception | None) -> None:
        adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
        claim = transitions.claimed_unplanned(adopted, source="east", target="west", highest_epoch=1, **SIGNED)
        moved = transitions.handed_over(claim, run="disaster", at=AT)
        left = transitions.without_source(moved, run="disaster", fenced=True, at=AT)
        self.state = transitions.copied_again(left, "north")
        self.answer = answer
        seed = FlowSeed(self.state.epoch, "west", "east", {}, held=True).to_json()
        ends = {"ends": positions_to_json({})}
        self.history: dict[str, dict[str, Any]] = {"disaster": {FLOW_SEED: seed, "target_ends": ends}}

    def record(self) -> Any:
        return self.state

    def writes_refused(self, cluster: str) -> Check:
        assert cluster == "east"
        if self.answer is None:
            time.sleep(1)
            raise TryAgain("too late")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def check(self) -> tuple[str, str]:
        found = left_clusters_refuse(cast("Any", self))
        assert found.name == left_clusters.NAME
        return found.outcome, found.detail


REFUSED = Check("writes_refused", "ok", "every write is refused")


def test_it_has_to_refuse_writes_now() -> None:
    assert LeftEast(REFUSED).check() == ("ok", "east refuses writes, as before")
    outcome, detail = LeftEast(Check("writes_refused", "failed", "a leader takes its writes")).check()
    assert (outcome, detail) == ("failed", "east: a leader takes its writes: dr_health fences it")


def test_what_is_not_known_of_its_fence_is_not_good() -> None:
    assert LeftEast(Check("writes_refused", "unknown", "a leader does not answer")).check()[0] == "unknown"


@pytest.mark.parametrize("answer", [TryAgain("east is down"), None])
def test_one_that_is_away_again_was_fenced_before_it_went(
    answer: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_clusters, "_SECONDS", 0.1)
    outcome, detail = LeftEast(answer).check()
    assert outcome == "excused"
    assert detail.startswith("east does not answer: ")
    assert detail.endswith("It refused writes when it was seen last")


def test_the_list_of_a_failback_that_was_begun_is_not_forgotten() -> None:
    moved = LeftEast(REFUSED)
    moved.history["repair"] = {"claim": {"target": "east", "epoch": 1004, "left_by": "disaster"}}
    assert moved.check() == (
        "failed",
        "failback repair has begun to make east a copy again: run another one to its end first, or its list is "
        "forgotten",
    )
    # One of an earlier time is done.
    moved.history["repair"]["claim"]["left_by"] = "an earlier one"
    assert moved.check()[0] == "ok"
