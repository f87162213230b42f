"""Acknowledged records after an open transaction: nothing that judges loss calls them copied, and a failover keeps
them.
"""

from __future__ import annotations

import time

import pytest

from kafka_dr.outcomes import Check
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support.command_line import CommandLine
from support.held_back import held_back
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka
_RECORDS = 200


def _preflight(group: SwitchedGroup, *, refused: bool = False) -> dict[str, Check]:
    with group.protection.clients() as clients:
        run = failed if refused else run_step
        checks = run(StepName.PREFLIGHT, group.request(), clients).checks
    return {check.name: check for check in checks}


def test_whatever_judges_loss_counts_them_and_names_who_holds_them_back(own_group: SwitchedGroup) -> None:
    group = own_group
    group.wait_equal()
    with held_back(group.protection, "east", _RECORDS) as transactional_id:
        with group.protection.clients() as clients:
            flows, canary = reconcile_flows(group.name, clients), watch_canary(group.name, clients)
        found = _preflight(group)
        plan = CommandLine(group.protection).run(
            "plan", "unplanned", "--group", group.name, "--override", "a test", "--acknowledged"
        )
    counted = "200 acknowledged records and 1 record that may still be aborted are held back by the open transaction of"
    said = f"{counted} {transactional_id} since "
    assert (flows.outcome, canary.outcome) == ("ok", "ok"), (flows, canary)
    assert said in flows.sentences[-1]
    assert "nothing waits" not in flows.sentences[-1]
    assert "200 records not copied yet" in canary.sentences[-1]
    assert said in canary.sentences[-1]
    for name in ("flow_moves", "copied_in_time", "content_verified"):
        assert found[name].outcome == "ok", found[name]
        assert said in found[name].detail
    assert found["content_verified"].facts["not_copied_yet"] == _RECORDS + 1
    assert "200 records until" in plan.out.replace("\n", " "), plan
    assert said in plan.out.replace("\n", " ")


def test_what_waits_longer_than_allowed_is_red_until_the_transaction_ends_and_its_own_records_are_not(
    own_group: SwitchedGroup,
) -> None:
    group = own_group
    thresholds = group.protection.group.thresholds.model_copy(update={"max_lag_seconds": 0.5})
    with group.protection.changed(thresholds=thresholds):
        with held_back(group.protection, "east", 0, of_the_transaction=3), group.protection.clients() as clients:
            time.sleep(1)
            own = reconcile_flows(group.name, clients)
        with held_back(group.protection, "east", 5), group.protection.clients() as clients:
            time.sleep(1)
            late = reconcile_flows(group.name, clients)
            found = _preflight(group, refused=True)["copied_in_time"]
        group.wait_equal()
        with group.protection.clients() as clients:
            ended = reconcile_flows(group.name, clients)
    assert (own.outcome, late.outcome, ended.outcome) == ("ok", "failed", "ok"), (own, late, ended)
    assert "3 records that may still be aborted are held back" in own.sentences[-1]
    assert "let the application end the transaction" in late.sentences[-1]
    assert "held back" not in ended.sentences[-1]
    assert found.outcome == "failed", found
    assert "0.5 s are allowed (thresholds.max_lag_seconds)" in found.detail


def test_a_planned_failover_ends_the_transaction_and_loses_none_of_them(own_group: SwitchedGroup) -> None:
    group, [place] = own_group, own_group.at(0)
    before = len(group.contents("east")[place])
    with held_back(group.protection, "east", _RECORDS):
        group.go(StepName.REPORT)
    assert group.active == "west"
    assert len(group.contents("west")[place]) == before + _RECORDS
