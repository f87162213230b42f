"""A stretch cluster in Airflow: its look is kept, unknown is never green, and the status page shows its sites."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.stretch.findings import findings_of
from kafka_dr.stretch.result import StretchLook
from kafka_dr.stretch.what_if import if_lost
from kafka_dr.watch_results import STRETCH, WatchResultStore
from support.stretch_facts import facts, partition

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from kafka_dr_airflow.operators.stretch import StretchOperator

ONLY_STRETCHED = """
stretch_clusters:
  metro: {connection: kafka_metro_observer, acks: all}
evidence: {root: %s}
"""
CONTEXT: Any = {"run_id": "manual__1", "ti": SimpleNamespace(try_number=1), "params": {"cluster": None}}


def report(*partitions: Any, **more: Any) -> dict[str, Any]:
    """Return a report, as a look at such a cluster makes it."""
    seen = facts(*partitions, **more)
    losses = tuple(if_lost(seen, site) for site in seen.sites)
    return json.loads(json.dumps(StretchLook(seen, losses, tuple(findings_of(seen, losses))).to_json(whole=False)))  # type: ignore[no-any-return]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root of a topology that declares nothing but a stretch cluster."""
    path = tmp_path / "topology.yaml"
    path.write_text(ONLY_STRETCHED % (tmp_path / "evidence"))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(path))
    return tmp_path / "evidence"


@pytest.fixture
def look(root: Path) -> StretchOperator:
    from kafka_dr_airflow.operators.stretch import StretchOperator

    return StretchOperator(cluster="metro")


def looked(look: StretchOperator, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the task find a report; real clusters are looked at in tests/integration/stretch."""
    monkeypatch.setattr(look, "_looked", lambda: found)
    look.execute(CONTEXT)


@pytest.mark.parametrize(
    ("found", "outcome", "words"),
    [
        (report(partition(1, 2, 3)), "ok", "Any one site of metro may be lost"),
        (report(partition(1, 2, 3), follower_fetching=False), "warning", "Any one site of metro may be lost"),
        (report(partition(3, 6)), "failed", "If c is lost: 1 partition stops"),
        (report(partition(1, 2, 3), acks=None), "unknown", "not everything is known"),
    ],
)
def test_a_look_is_kept_whatever_it_found_and_only_what_is_known_and_good_is_green(
    look: StretchOperator,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: dict[str, Any],
    outcome: str,
    words: str,
) -> None:
    if outcome in ("ok", "warning"):
        looked(look, found, monkeypatch)
    else:
        with pytest.raises(SystemExit, match=f"metro: {outcome}: .*{words}"):
            looked(look, found, monkeypatch)
    kept = WatchResultStore(root).read("metro", STRETCH.name)
    assert kept is not None
    assert (kept.outcome, kept.facts["sites"]) == (outcome, found["sites"])
    assert words in kept.sentences[0]
    assert json.loads((root / look.report_path).read_text()) == found
    assert "If a site is lost" in (root / look.report_path).with_name("report.html").read_text()


def test_a_connection_that_airflow_does_not_have_is_named_in_one_sentence(look: StretchOperator, root: Path) -> None:
    with pytest.raises(SystemExit, match="kafka_metro_observer"):
        look.execute(CONTEXT)
    kept = WatchResultStore(root).read("metro", STRETCH.name)
    assert kept is not None
    assert kept.outcome == "unknown"


def test_the_status_page_shows_what_the_loss_of_each_site_would_do(
    look: StretchOperator, root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pages.get("/status").text
    assert "UNKNOWN: 1 stretch cluster, and no protection group" in before
    assert "dr_stretch has not looked yet" in before
    with pytest.raises(SystemExit):
        looked(look, report(partition(1, 2, 3), partition(3, 6)), monkeypatch)
    page = pages.get("/status").text
    assert "FAILED: 1 stretch cluster, and no protection group" in page
    assert "If c is lost: 1 partition stops" in page
    rows = page[page.index("Partitions that stop") :]
    assert [rows.count(f"<td>{site}</td>") for site in "abc"] == [1, 1, 1]
    address = f"/kafka-dr/{look.report_path.removesuffix('/report.json')}"
    assert f'href="{address}"' in pages.get("/groups/metro").text
    assert f'href="{address}"' in pages.get("/results/metro/stretch").text
    assert "none left in sync" in pages.get(address.removeprefix("/kafka-dr")).text


def test_the_first_task_names_every_cluster_or_the_one_that_is_asked_for(root: Path) -> None:
    from kafka_dr_airflow.operators.declared_names import DeclaredNamesOperator

    clusters = DeclaredNamesOperator(
        task_id="clusters", parameter="cluster", section="stretch_clusters", kind="stretch cluster"
    )
    assert clusters.execute(CONTEXT) == ["metro"]
    assert clusters.execute({**CONTEXT, "params": {"cluster": "metro"}}) == ["metro"]
    with pytest.raises(SystemExit, match="orders"):
        clusters.execute({**CONTEXT, "params": {"cluster": "orders"}})
