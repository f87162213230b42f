"""After each look of health readiness is judged again: people are notified once, and the score is kept for plots."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from airflow.sdk import AssetAlias
from airflow.sdk.api.datamodels._generated import DagRunType
from airflow.sdk.execution_time.context import OutletEventAccessors

from kafka_dr.drill.result import DrillResults
from kafka_dr.notifications.outbox import NotificationOutbox
from kafka_dr.watch_results import WATCHES, FiguresOverTime, KeptResult, WatchResultStore
from kafka_dr_airflow.operators.health_round import HealthRound
from kafka_dr_airflow.operators.readiness_again import judge_readiness_again, outdated_groups
from kafka_dr_airflow.operators.rounds import HEALTH_LOOKED, RUN_ENDED, ReadinessRound, RoundOperator
from kafka_dr_airflow.topology_file import read_topology
from support.drill_results import result
from support.kept_metrics import FACTS

SOURCE = Path(__file__).parents[3] / "include" / "topology.yaml"
LOG = logging.getLogger(__name__)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root of a topology that declares a notifier."""
    for name in ("EAST", "WEST", "VANTAGE"):
        monkeypatch.setenv(f"KAFKA_DR_LAB_{name}", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(tmp_path / "topology.yaml"))
    document = {**yaml.safe_load(SOURCE.read_text()), "notifications": {"chat": {"notifier": "a.b.Notifier"}}}
    (tmp_path / "topology.yaml").write_text(yaml.safe_dump(document))
    return tmp_path / "evidence"


def keep(root: Path, **changed: Any) -> None:
    """Keep a good result of every watch, with these changes of the one of health."""
    for watch in WATCHES:
        more = changed if watch == "health" else {}
        given = {"outcome": "ok", "sentences": ("all is good",), "facts": FACTS.get(watch, {}), **more}
        found = KeptResult("orders", watch, looked_at=datetime.now(UTC), run="scheduled__1", **given)
        WatchResultStore(root).keep_round(watch, [found], declared=["orders"])


def occasions(root: Path) -> list[str]:
    return [each.occasion for each in NotificationOutbox(root).waiting("chat", datetime.now(UTC))]


def test_a_cluster_that_falls_silent_is_one_notification_and_a_lower_score(root: Path) -> None:
    keep(root)
    judge_readiness_again(LOG)
    assert occasions(root) == []
    keep(root, outcome="unknown", sentences=("east does not answer",))
    judge_readiness_again(LOG)
    judge_readiness_again(LOG)
    assert occasions(root) == ["readiness_lost"]
    (news,) = NotificationOutbox(root).waiting("chat", datetime.now(UTC))
    assert news.details == ("planned failover: unknown: watch dr_health: east does not answer",)
    assert news.link.endswith("/kafka-dr/status#group-orders")
    keep(root)
    judge_readiness_again(LOG)
    assert occasions(root) == ["readiness_lost", "readiness_regained"]
    days = [datetime.now(UTC).date()]
    worst = min(each.value for each in FiguresOverTime(root, "readiness").of("orders", "planned_failover_score", days))
    assert 0 < worst < 100


def test_a_damaged_memory_or_result_only_says_so(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep(root)
    (root / "notifications").mkdir()
    (root / "notifications" / "readiness.json").write_text("{")
    judge_readiness_again(LOG)
    assert "so it is sent again" in caplog.text
    (root / "watches" / "health.json").write_text("{")
    judge_readiness_again(LOG)
    assert occasions(root) == ["readiness_lost"]


def test_a_run_that_ended_since_the_clusters_were_asked_names_its_group_until_they_were_asked_again(root: Path) -> None:
    now = datetime.now(UTC).isoformat()
    keep(root, facts={**FACTS["health"], "recorded_at": now, "held": True})
    assert judge_readiness_again(LOG) == ()
    keep(root, facts={**FACTS["health"], "recorded_at": now})
    assert judge_readiness_again(LOG) == ("orders",)
    assert outdated_groups(read_topology(os.environ)) == ["orders"]
    keep(root)
    assert judge_readiness_again(LOG) == ()
    assert outdated_groups(read_topology(os.environ)) == []


def test_a_look_of_health_starts_readiness_only_after_the_end_of_a_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RoundOperator, "looked_and_kept", lambda *_, **__: {})
    alias = AssetAlias("kafka_dr_run_ended")
    health = HealthRound(outlets=[HEALTH_LOOKED, alias])
    keep(root)
    events = OutletEventAccessors()
    by_hand: dict[str, Any] = {"dag_run": SimpleNamespace(run_type=DagRunType.MANUAL)}
    health.execute({"outlet_events": events, **by_hand})
    assert events[alias].asset_alias_events == []
    keep(root, facts={**FACTS["health"], "recorded_at": datetime.now(UTC).isoformat()})
    health.execute({"outlet_events": events, **by_hand})
    (event,) = events[alias].asset_alias_events
    assert (event.dest_asset_key.uri, event.extra) == (RUN_ENDED.uri, {"groups": ("orders",)})


def test_readiness_that_the_end_of_a_run_started_asks_about_that_group_alone(root: Path) -> None:
    keep(root, facts={**FACTS["health"], "recorded_at": datetime.now(UTC).isoformat()})
    ended = {"dag_run": SimpleNamespace(run_type=DagRunType.ASSET_TRIGGERED)}
    assert ReadinessRound().due(read_topology(os.environ), ended) == ["orders"]
    keep(root)
    assert ReadinessRound().due(read_topology(os.environ), ended) == []
    triggered = {"dag_run": SimpleNamespace(run_type=DagRunType.MANUAL)}
    assert ReadinessRound().due(read_topology(os.environ), triggered) == ["orders"]


def test_readiness_asks_again_after_a_drill_so_that_its_result_is_shown(root: Path) -> None:
    keep(root)
    assert outdated_groups(read_topology(os.environ)) == []
    ended = result(datetime.now(UTC) + timedelta(seconds=1), passed=False)
    DrillResults(root, "orders").write(ended)
    assert outdated_groups(read_topology(os.environ)) == ["orders"]
    DrillResults(root, "orders").write(replace(ended, ended_at=datetime.now(UTC) - timedelta(minutes=1)))
    assert outdated_groups(read_topology(os.environ)) == []
