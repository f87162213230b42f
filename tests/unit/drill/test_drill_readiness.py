"""What readiness makes of drills: none in time, or one that did not pass, is a warning; one that passed is a try."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.drill.result import DrillResult, DrillResults
from kafka_dr.readiness_checks.drill_facts import drill_facts
from kafka_dr.readiness_checks.surroundings import drilled_lately, tried_lately
from support.drill_results import SPEC, TUESDAY, leg, result
from support.manual_clock import ManualClock
from support.sentences import assert_sentence


def run(root: Path, *results: DrillResult, every_days: int | None = 30, tried: int | None = None, **spec: Any) -> Any:
    kept = DrillResults(root, "orders")
    for each in results:
        kept.write(each)
    group = SimpleNamespace(
        name="orders",
        drill=SPEC.model_copy(update={"every_days": every_days, **spec}),
        objectives=SimpleNamespace(tried_every_days=tried),
    )
    clock = ManualClock(TUESDAY)
    return SimpleNamespace(group=group, clients=SimpleNamespace(evidence_root=root), clock=clock, history={})


def days_ago(days: int, **values: Any) -> DrillResult:
    return result(TUESDAY - timedelta(days=days), **values)


@pytest.mark.parametrize(
    ("results", "outcome", "said"),
    [
        ((), "warning", "no drill of orders passed for 30 days (drill.every_days); there was none: trigger dr_drill"),
        ((days_ago(3),), "ok", "passed"),
        ((days_ago(40),), "warning", "the last was 20261015103000: trigger dr_drill, and look why none passed"),
        ((days_ago(20), days_ago(3, passed=False)), "warning", "did not pass: recovery 70 s"),
        ((days_ago(3), days_ago(0, passed=False, stage="begun")), "ok", "passed"),
        ((days_ago(3), days_ago(1, passed=False, stage="begun")), "warning", "no process executes it any more"),
        ((days_ago(3), days_ago(1, passed=False, stage="measured")), "warning", "no process executes it any more"),
    ],
)
def test_a_drill_that_is_overdue_or_did_not_pass_lowers_readiness(
    tmp_path: Path, results: tuple[DrillResult, ...], outcome: str, said: str
) -> None:
    check = drilled_lately(run(tmp_path, *results))
    assert (check.outcome, said in check.detail) == (outcome, True), check


def test_without_an_interval_only_a_drill_that_did_not_pass_is_a_warning(tmp_path: Path) -> None:
    assert drilled_lately(run(tmp_path, every_days=None)).outcome == "ok"
    assert drilled_lately(run(tmp_path, days_ago(400), every_days=None)).outcome == "ok"
    assert drilled_lately(run(tmp_path, days_ago(3, passed=False), every_days=None)).outcome == "warning"


def test_a_result_that_cannot_be_read_is_no_good_one(tmp_path: Path) -> None:
    asked = run(tmp_path, days_ago(3), tried=10)
    (tmp_path / "drills" / "orders" / days_ago(3).id / "result.json").write_text("{")
    check = drilled_lately(asked)
    assert check.outcome == "warning"
    assert_sentence(check.detail)
    assert tried_lately(asked).outcome == "warning"


def test_a_drill_that_passed_is_a_try_and_one_that_did_not_is_none(tmp_path: Path) -> None:
    assert_sentence(tried_lately(run(tmp_path, days_ago(3), tried=10)).detail)
    late = tried_lately(run(tmp_path / "late", days_ago(20), days_ago(2, passed=False), tried=10))
    assert late.outcome == "warning"
    assert_sentence(late.detail)


def kept(root: Path, *results: DrillResult, before: Any = None, **spec: Any) -> dict[str, Any]:
    asked = run(root, *results, **spec)
    topology = SimpleNamespace(group=lambda name: asked.group)
    clients: Any = SimpleNamespace(evidence_root=root, topology=topology, clock=asked.clock)
    found = drill_facts("orders", clients, before)
    assert found is not None
    return found


def test_the_newest_drill_is_kept_with_its_slowest_recovery_and_whether_the_next_is_overdue(tmp_path: Path) -> None:
    two = replace(days_ago(3), legs=(leg(rto_seconds=4.0), leg(rto_seconds=9.0)))
    found = kept(tmp_path, days_ago(20), two)
    assert (found["overdue"], found["last"]["id"], found["last"]["rto_seconds"]) == (False, days_ago(3).id, 9.0)
    assert (found["last"]["passed"], found["last"]["rto_objective"]) == (True, 60.0)
    died = [kept(tmp_path / f"{n}", days_ago(n, passed=False, stage="begun"))["last"]["died"] for n in (0, 1)]
    assert died == [False, True]
    unmeasured = replace(two, legs=(leg(rto_seconds=4.0), leg(rto_seconds=None)))
    assert kept(tmp_path / "unmeasured", unmeasured)["last"]["rto_seconds"] is None
    assert kept(tmp_path / "late", days_ago(40))["overdue"] is True
    assert kept(tmp_path / "none", every_days=None) == {"overdue": False, "every_days": None, "last": None}


def test_where_results_cannot_be_read_a_drill_stays_as_overdue_as_it_was(tmp_path: Path) -> None:
    kept(tmp_path, days_ago(3))
    (tmp_path / "drills" / "orders" / days_ago(3).id / "result.json").write_text("{")
    assert kept(tmp_path, before={"drill": {"overdue": True}})["overdue"] is True
    found = kept(tmp_path, before={"drill": 5})
    assert (found["overdue"], found["last"], "damaged" in found["unreadable"]) == (False, None, True)
