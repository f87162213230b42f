"""A scheduled look of health listens afterwards, and looks again only at the groups of a cluster that changed."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.api.datamodels._generated import DagRunType

from kafka_dr.health import between_looks
from kafka_dr.rounds.looks import BETWEEN, CHANGED, HEALTH, PROPOSES
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.watch_results import KeptResult
from kafka_dr_airflow.operators import health_round
from kafka_dr_airflow.operators.health_round import HealthRound

CLUSTERS = {"orders": ("east", "west"), "stock": ("west", "east"), "far": ("north", "south")}
ALL = frozenset(CLUSTERS)
HEARD = {"answering": ["east", "north", "south", "west"], "silent": [], "phase": "stable", "run": "adoption"}
SCHEDULED = {"dag_run": SimpleNamespace(run_type=DagRunType.SCHEDULED), "run_id": "scheduled__1"}


class Listening:
    """A round of health whose looks and questions are answered by a test, and written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, frozenset[str]]] = []
        self.told: dict[str, bool] = {}
        self.first: dict[str, WatchResult] = {name: WatchResult(name, "ok", (), HEARD) for name in ALL}
        self.before = {name: KeptResult(name, "health", "ok", (), datetime.now(UTC), facts=HEARD) for name in ALL}
        self.changed: list[str] = []
        monkeypatch.setattr(HealthRound, "round_of", self._round_of)
        monkeypatch.setattr(HealthRound, "looked_at", self._looked_at)
        monkeypatch.setattr(HealthRound, "_judge", lambda *_: ())
        monkeypatch.setattr(between_looks, "seconds_to_listen", lambda *_: 20.0)
        monkeypatch.setattr(health_round, "results_of", lambda *_: self.before)
        monkeypatch.setattr("kafka_dr_airflow.operators.rounds.keep_round", lambda *_, **__: None)

    def look(self, context: Any = SCHEDULED) -> Any:
        topology: Any = SimpleNamespace(group=lambda name: SimpleNamespace(clusters=CLUSTERS[name]))
        return HealthRound().looked_and_kept(topology, sorted(ALL), context)

    def _round_of(self, _: Any, groups: Any, __: Any, *, look: str, seconds: float, settings: Any = None) -> str:
        self.asked.append((look, frozenset(groups)))
        self.told = settings or self.told
        return look

    def _looked_at(self, wanted: str, groups: Any, **_: Any) -> dict[str, WatchResult]:
        if wanted == BETWEEN:
            return {name: WatchResult(name, "ok", (), {CHANGED: self.changed}) for name in groups}
        again = len(self.asked) > 1
        return {name: WatchResult(name, "failed", ()) if again else self.first[name] for name in groups}


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Listening:
    return Listening(monkeypatch)


def test_while_nothing_changes_one_group_of_each_pair_of_clusters_is_asked_for_and_none_looked_at_again(
    listening: Listening,
) -> None:
    listening.look()
    (first, between) = listening.asked
    assert first == (HEALTH, ALL)
    assert (between[0], {frozenset(CLUSTERS[name]) for name in between[1]}) == (
        BETWEEN,
        {frozenset({"east", "west"}), frozenset({"north", "south"})},
    )
    assert len(between[1]) == 2
    assert listening.told == dict.fromkeys(("east", "north", "south", "west"), True)


def test_the_groups_of_a_cluster_that_changed_are_looked_at_again_and_what_is_new_counts(listening: Listening) -> None:
    listening.changed = ["east"]
    found = listening.look()
    assert listening.asked[2:] == [(HEALTH, frozenset({"orders", "stock"}))]
    assert {name: each.outcome for name, each in found.items()} == {"orders": "failed", "stock": "failed", "far": "ok"}


@pytest.mark.parametrize(
    "news",
    [
        WatchResult("orders", "unknown", (), HEARD),
        WatchResult("orders", "ok", (), {**HEARD, "silent": ["east"], "answering": ["west"]}),
        WatchResult("orders", "ok", (), {**HEARD, "run": "manual__1"}),
        WatchResult("orders", "ok", (), {**HEARD, PROPOSES: True}),
    ],
)
def test_a_look_that_found_something_new_ends_at_once_so_that_people_hear_of_it(
    listening: Listening, news: WatchResult
) -> None:
    listening.first["orders"] = news
    listening.look()
    assert listening.asked == [(HEALTH, ALL)]


def test_a_look_that_somebody_triggered_ends_at_once(listening: Listening) -> None:
    listening.look({**SCHEDULED, "dag_run": SimpleNamespace(run_type=DagRunType.MANUAL)})
    assert listening.asked == [(HEALTH, ALL)]
