"""What is kept of a group, as metrics: unknown is a value of its own, and no series is missing when all is unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from kafka_dr.canary.verdict import CanaryOutcome
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.lag.findings import LagFindingKind
from kafka_dr.lag.verdict import LagVerdict
from kafka_dr.metrics import table
from kafka_dr.metrics.of_results import of_group, of_look
from kafka_dr.metrics.of_runs import of_runs
from kafka_dr.metrics.page import declared_group
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.register import Phase
from kafka_dr.watch_results import STANDBYS, WATCHES, RunEnding, WatchName, watched_group
from support.kept_metrics import FACTS, NOON, all_kept, kept, topology_of

LATER = NOON + timedelta(seconds=40)


def samples(found: Mapping[WatchName, Any], now: datetime = LATER) -> dict[str, dict[tuple[str, ...], float]]:
    """Return what is known of the group ``orders``: by metric and labels without the group."""
    made: dict[str, dict[tuple[str, ...], float]] = {}
    for each in of_group(watched_group("orders", found, now), declared_group(topology_of("orders"), "orders"), now):
        assert each.labels[0] == "orders"
        made.setdefault(each.metric.name.removeprefix("kafka_dr_"), {})[each.labels[1:]] = each.value
    return made


def holds(found: Mapping[tuple[str, ...], float], *before: str) -> str:
    """Return the one state that is 1."""
    (state,) = (labels[-1] for labels, value in found.items() if labels[:-1] == before and value == 1)
    return state


def test_a_healthy_group() -> None:
    found = samples(all_kept("orders"))
    assert {holds(found["watch_outcome"], watch) for watch in WATCHES} == {"ok"}
    assert set(found["watch_age_seconds"].values()) == {40}
    assert found["watch_limit_seconds"]["health",] == 180
    assert (holds(found["phase"]), found["epoch"][()], found["held"][()]) == ("stable", 3, 0)
    assert found["active"] == {("east",): 1, ("west",): 0}
    assert holds(found["readiness"], "planned_failover") == "ready"
    assert holds(found["readiness"], "failback") == "not_needed"
    assert found["readiness_score"]["planned_failover",] == 100
    assert math.isnan(found["readiness_score"]["failback",])
    assert (holds(found["canary_verdict"]), found["canary_rpo_seconds"][()]) == ("on_time", 0)
    assert found["frontier_age_seconds"][()] == 5 * 60 + 40 + 2
    assert found["verified_rpo_seconds"][()] == 2
    assert set(found["findings"].values()) == {0}
    assert found["consumer_groups"]["OK",] == 3
    assert found["replication_latency_seconds"]["p99",] == 0.3
    assert found["redelivered_records"] == {("kafka_dr",): 0, ("mirrormaker",): 570}
    assert found["objective_seconds"]["write_outage",] == 5
    assert "readiness_check" not in found
    assert "health_check" not in found


def test_each_of_several_standbys_has_series_of_its_own_and_a_pair_has_none() -> None:
    rows = [{"standby": "north", "outcome": "ok", "seconds": 9.0}, {"standby": "west", "outcome": "ok", "seconds": 0.5}]
    health = kept("orders", "health", facts={**FACTS["health"], "roles": {"north": "copy", "west": "pending"}})
    lag = kept("orders", "lag", facts={**FACTS["lag"], STANDBYS: rows})
    found = samples({**all_kept("orders"), "health": health, "lag": lag})
    assert found["standby_role"] == {("north", "copy"): 1, ("west", "pending"): 1}
    assert {name: found["standby_seconds"][name, "lag"] for name in ("north", "west")} == {"north": 9.0, "west": 0.5}
    assert math.isnan(found["standby_seconds"]["north", "canary_rpo"])
    assert not {"standby_role", "standby_seconds"} & set(samples(all_kept("orders")))


def test_the_same_question_about_two_standbys_is_one_series() -> None:
    asked = tuple(ReadinessCheck("space", "failed", "a disk", standby=name) for name in ("north", "west"))
    verbs = [VerbReadiness(verb, asked) for verb in table.VERBS]
    kept_now = {**all_kept("orders"), "readiness": kept("orders", "readiness", facts=facts_of(verbs))}
    declared = declared_group(topology_of("orders"), "orders")
    found = of_group(watched_group("orders", kept_now, NOON), declared, NOON)
    labels = [each.labels for each in found if each.metric is table.READINESS_CHECK]
    assert len(labels) == len(set(labels)) == len(table.VERBS)


@pytest.mark.parametrize("what", ["missing", "damaged", "old", "of the future"])
def test_of_a_group_of_which_nothing_is_known_every_series_is_there_and_none_is_good(what: str) -> None:
    good, later = samples(all_kept("orders")), NOON + timedelta(days=2)
    if what == "missing":
        found = samples({})
    elif what == "damaged":
        found = samples(dict.fromkeys(WATCHES, DocumentDamaged("it is not JSON")))
    else:
        found = samples(all_kept("orders"), later if what == "old" else NOON - timedelta(days=2))
    series = {(name, labels) for name, each in found.items() for labels in each}
    never = {"watch_looked_timestamp_seconds"} if what in ("missing", "damaged") else set()
    assert {(name, labels) for name, each in good.items() for labels in each if name not in never} <= series
    assert {holds(found["watch_outcome"], watch) for watch in WATCHES} == {"unknown"}
    assert {holds(found["readiness"], verb) for verb in table.VERBS} == {"unknown"}
    assert set(found["readiness_score"].values()) == {0}
    assert (holds(found["phase"]), holds(found["canary_verdict"])) == ("unknown", "unknown")
    assert set(found["active"].values()) == {0}
    ages = {"missing": math.inf, "damaged": math.inf, "old": 2 * 86400, "of the future": -2 * 86400}
    assert set(found["watch_age_seconds"].values()) == {ages[what]}
    assert found["frontier_age_seconds"][()] == {"old": 2 * 86400 + 302, "of the future": -2 * 86400 + 302}.get(
        what, math.inf
    )
    figures = ("canary_rpo_seconds", "lag_seconds", "lag_records", "verified_rpo_seconds", "findings", "epoch", "held")
    assert all(math.isnan(value) for name in figures for value in found[name].values())


@pytest.mark.parametrize("value", [None, "3", True, [], {}, math.nan, math.inf, -math.inf])
def test_a_figure_of_another_kind_is_not_known(value: Any) -> None:
    damaged = {name: dict.fromkeys(facts, value) for name, facts in FACTS.items()}
    found = samples({name: kept("orders", name, facts=damaged.get(name, {})) for name in WATCHES})
    for name in ("canary_rpo_seconds", "lag_seconds", "verified_rpo_seconds", "epoch", "redelivered_records"):
        assert all(math.isnan(each) for each in found[name].values()), name
    assert found["frontier_age_seconds"][()] == math.inf
    assert (holds(found["phase"]), holds(found["canary_verdict"])) == ("unknown", "unknown")
    assert holds(found["readiness"], "planned_failover") == "unknown"


def test_what_is_not_ok_is_named_by_its_check() -> None:
    facts = {**FACTS["health"], "open_checks": {"route": "failed", "silent": "unknown", "odd": 5}}
    found = samples({**all_kept("orders"), "health": kept("orders", "health", outcome="failed", facts=facts)})
    assert found["health_check"] == {("route", "failed"): 1, ("silent", "unknown"): 1}
    assert found["readiness_check"]["planned_failover", "watch dr_health", "failed"] == 1
    assert holds(found["readiness"], "planned_failover") == "not_ready"


def test_findings_are_counted_by_kind_and_a_new_kind_is_not_dropped() -> None:
    facts = {**FACTS["checksum"], "findings": {"LOST": 12, "NEW_KIND": 1}}
    found = samples({**all_kept("orders"), "checksum": kept("orders", "checksum", outcome="failed", facts=facts)})
    assert found["findings"]["checksum", "LOST"] == 12
    assert found["findings"]["checksum", "NEW_KIND"] == 1
    assert found["findings"]["checksum", "MOVED"] == 0
    assert found["findings"]["lag", "deleted"] == 0


def test_denies_that_were_added_again_are_a_sum_over_all_looks() -> None:
    health = replace(kept("orders", "health"), totals={"denies_added": 4})
    assert samples({**all_kept("orders"), "health": health})["denies_added"][()] == 4
    assert samples({})["denies_added"][()] == 0


def test_a_task_sends_what_its_look_says_and_only_metrics_of_tasks() -> None:
    look = kept("orders", "health", facts={**FACTS["health"], "denies_added": 2})
    sent = {(each.metric.name, each.labels): each.value for each in of_look(look, ("east", "west"))}
    assert sent["kafka_dr_denies_added", ("orders",)] == 2
    assert sent["kafka_dr_watch_looked_timestamp_seconds", ("orders", "health")] == NOON.timestamp()
    assert sent["kafka_dr_phase", ("orders", "stable")] == 1
    every = [each.metric for watch in WATCHES for each in of_look(kept("orders", watch), ("east", "west"))]
    assert all(metric.by_tasks for metric in every)
    of_readiness = {each.metric.name for each in of_look(kept("orders", "readiness", facts={}), ())}
    assert "kafka_dr_readiness" in of_readiness


def test_the_newest_run_of_each_verb() -> None:
    runs = (
        RunEnding("m3", "dr_planned_failover", "DRY RUN", True, NOON),
        RunEnding("m2", "dr_planned_failover", "MOVED", True, NOON, {"claim": 0.5}, {"rto_seconds": 9.9}),
        RunEnding("m1", "dr_planned_failover", "MOVED", False, NOON, {"claim": 7.0}),
        RunEnding("u1", "dr_unplanned_failover", "FAILED", False, NOON, {"fence": 1.0}),
    )
    found = {(each.metric.name, each.labels[1:]): each.value for each in of_runs("orders", runs)}
    assert found["kafka_dr_step_seconds", ("planned_failover", "claim")] == 0.5
    assert found["kafka_dr_run_good", ("planned_failover",)] == 1
    assert found["kafka_dr_run_good", ("unplanned_failover",)] == 0
    assert found["kafka_dr_run_measured_seconds", ("planned_failover", "rto")] == 9.9
    assert found["kafka_dr_runs_readable", ()] == 1
    (damaged,) = of_runs("orders", DocumentDamaged("it is not JSON"))
    assert (damaged.metric.name, damaged.value) == ("kafka_dr_runs_readable", 0)


def test_the_table_has_the_words_of_the_rooms_that_own_them() -> None:
    assert set(table.PHASES) - {"unknown"} == set(Phase)
    assert set(table.CANARY_VERDICTS) == set(CanaryOutcome)
    assert set(table.LAG_VERDICTS) == set(LagVerdict)
    assert set(table.FINDINGS["lag"]) == set(LagFindingKind)
