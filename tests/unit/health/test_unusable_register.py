"""A cluster answers, and its register does not: whether its fence may be restored by another register's record."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters import Acl
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import _checks_of
from kafka_dr.health.kept_facts import heard_from
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.restore_fence import FenceRepair, doubt_without_its_register
from kafka_dr.health.silence import without_record
from kafka_dr.register import Phase
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.topology.loading import load
from support.register_states import a_state

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
GROUP = load(Path(__file__).parents[3] / "include" / "topology.yaml", LAB).group("orders")
UNUSABLE = RegisterUnusable("the register of east has no leader")


def with_rules(there: frozenset[Acl]) -> Any:
    return SimpleNamespace(group=GROUP, rules_in_force=lambda _: there)


def test_a_cluster_that_a_failover_may_have_opened_is_not_fenced_without_its_register() -> None:
    stable = a_state(active="west", standby="east")
    opened = with_rules(plan.flow_fence(GROUP))
    assert "not known whether a failover has opened it" in doubt_without_its_register(opened, "east", stable)
    assert not doubt_without_its_register(opened, "west", stable), "the active cluster keeps applications in"
    one_left = with_rules(frozenset(sorted(plan.write_fence(GROUP))[:1]))
    assert not doubt_without_its_register(one_left, "east", stable)


@pytest.mark.parametrize("phase", [Phase.HANDED_OVER, Phase.UNFENCED, Phase.DIVERGED])
def test_a_cluster_that_was_just_left_is_fenced_without_its_register(phase: Phase) -> None:
    left = a_state(phase=phase, active="west", standby="east", verb="unplanned_failover")
    assert not doubt_without_its_register(with_rules(frozenset()), "east", left)


def test_such_a_cluster_answers_and_is_not_called_silent() -> None:
    found = RegisterAnswers({"west": a_state()}, {}, {}, {"east": UNUSABLE})
    assert heard_from(found, too_slow="") == {"answering": ["east", "west"], "silent": [], "unheard": []}
    nothing = without_record("orders", RegisterAnswers({"west": None}, {}, {}, {"east": UNUSABLE}), too_slow="")
    assert nothing.outcome == "unknown"
    assert "the register of east has no leader" in nothing.sentences
    assert "does not answer" not in "\n".join(nothing.sentences)


def test_nobody_is_looked_for_who_removed_denys_that_were_never_added() -> None:
    left = a_state(phase=Phase.UNFENCED, active="west", standby="east", verb="unplanned_failover")
    (said,) = (check.detail for check in _checks_of(FenceRepair("east", added=25), left))
    assert "could not fence, is fenced now: 25 DENYs were added" in said
    assert "who removed" not in said
    for repair in (FenceRepair("east", added=25, lost=3), FenceRepair("west", added=1)):
        (said,) = (check.detail for check in _checks_of(repair, left))
        assert "who removed" in said
