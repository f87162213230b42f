"""An observed flow in Airflow: its look is kept, unknown is never green, and the status page leads to its report."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.watch_results import OBSERVATION, WatchResultStore

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from kafka_dr_airflow.operators.observe import ObserveOperator

ONLY_OBSERVED = """
observed_flows:
  invoices:
    source: {name: berlin, connection: kafka_berlin_observer}
    target: {name: hamburg, connection: kafka_hamburg_observer}
    topic_prefixes: [invoices.]
evidence: {root: %s}
"""
CONTEXT: Any = {"run_id": "manual__1", "ti": SimpleNamespace(try_number=1), "params": {"flow": None}}


def seen(verdict: str, *, not_looked_at: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a report, as one look makes it."""
    return {
        "schema_version": 1,
        "flow": "invoices",
        "at": "2026-11-20T03:00:00+00:00",
        "verdict": verdict,
        "sentence": "If you failed over from berlin to hamburg now, you would lose 3 records.",
        "source": {"name": "berlin", "cluster_id": "b"},
        "target": {"name": "hamburg", "cluster_id": "h"},
        "not_looked_at": list(not_looked_at),
        "totals": {"records_read_on_source": 10, "lost": 3},
        "groups": [],
        "readers": [],
        "groups_by_kind": {},
        "partitions": [],
    }


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root of a topology that declares nothing but an observed flow."""
    path = tmp_path / "topology.yaml"
    path.write_text(ONLY_OBSERVED % (tmp_path / "evidence"))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(path))
    return tmp_path / "evidence"


@pytest.fixture
def look(root: Path) -> ObserveOperator:
    from kafka_dr_airflow.operators.observe import ObserveOperator

    return ObserveOperator(flow="invoices")


def looked(look: ObserveOperator, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the task find a report; what the clusters say is shown on real ones in tests/integration/observation."""
    monkeypatch.setattr(look, "_looked", lambda: report)
    look.execute(CONTEXT)


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("failed", "failed"), ("unknown", "unknown"), ("ok", "ok"), ("warning", "warning")]
)
def test_a_look_is_kept_whatever_it_found_and_only_what_is_known_and_good_is_green(
    look: ObserveOperator, root: Path, monkeypatch: pytest.MonkeyPatch, verdict: str, outcome: str
) -> None:
    report = seen(verdict, not_looked_at=("settings of berlin",) if verdict == "unknown" else ())
    if outcome in ("ok", "warning"):
        looked(look, report, monkeypatch)
    else:
        with pytest.raises(SystemExit, match=f"invoices: {verdict}: If you failed over"):
            looked(look, report, monkeypatch)
    kept = WatchResultStore(root).read("invoices", OBSERVATION.name)
    assert kept is not None
    assert (kept.outcome, kept.facts["verdict"], kept.facts["lost"]) == (outcome, verdict, 3)
    assert kept.facts["report"] == look.report_path
    assert kept.sentences[1:] == (("not looked at: settings of berlin",) if verdict == "unknown" else ())
    assert json.loads((root / look.report_path).read_text()) == report
    assert "you would lose 3 records" in (root / look.report_path).with_name("report.html").read_text()


def test_a_reader_that_needs_more_than_an_offset_is_named_with_what_to_do(
    look: ObserveOperator, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"group": "workers", "kind": "share group", "verdict": "unknown", "to_do": "start them on hamburg"}
    with pytest.raises(SystemExit, match="invoices: unknown"):
        looked(look, {**seen("unknown"), "readers": [row], "groups_by_kind": {"share group": 1}}, monkeypatch)
    kept = WatchResultStore(root).read("invoices", OBSERVATION.name)
    assert kept is not None
    assert kept.sentences[1:] == ("workers, share group: start them on hamburg",)
    assert kept.facts["groups"] == {"share group": 1}


def test_a_cluster_that_does_not_answer_makes_the_flow_unknown(
    look: ObserveOperator, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_dr.errors import TryAgain

    def silent() -> Any:
        raise TryAgain("berlin did not answer")

    monkeypatch.setattr(look, "_looked", silent)
    with pytest.raises(SystemExit, match="berlin did not answer"):
        look.execute(CONTEXT)
    kept = WatchResultStore(root).read("invoices", OBSERVATION.name)
    assert kept is not None
    assert (kept.outcome, kept.sentences) == ("unknown", ("berlin did not answer",))
    assert not list(root.glob("audits/*"))


def test_a_connection_that_airflow_does_not_have_is_named_in_one_sentence(look: ObserveOperator, root: Path) -> None:
    with pytest.raises(SystemExit, match="kafka_berlin_observer") as ended:
        look.execute(CONTEXT)
    assert "create this connection in Airflow, or correct its id in the topology" in str(ended.value)
    kept = WatchResultStore(root).read("invoices", OBSERVATION.name)
    assert kept is not None
    assert (kept.outcome, kept.sentences) == ("unknown", (str(ended.value),))


def test_the_status_page_says_what_the_look_found_and_leads_to_every_report(
    look: ObserveOperator, root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pages.get("/status").text
    assert "UNKNOWN: 1 observed flow, and no protection group" in before
    assert "dr_observe has not looked yet" in before
    looked(look, seen("warning"), monkeypatch)
    page = pages.get("/status").text
    assert "OK, BUT: 1 observed flow, and no protection group" in page
    assert "Replication that is observed alone" in page
    assert '<a href="/kafka-dr/groups/invoices"><b>invoices</b></a>' in page
    address = f"/kafka-dr/{look.report_path.removesuffix('/report.json')}"
    index = pages.get("/groups/invoices").text
    assert index.count("dr_health") == 0
    assert f'href="{address}"' in index
    assert f'href="{address}"' in pages.get("/results/invoices/observation").text
    assert "you would lose 3 records" in pages.get(address.removeprefix("/kafka-dr")).text


def test_the_first_task_names_every_flow_or_the_one_that_is_asked_for(root: Path) -> None:
    from kafka_dr_airflow.operators.declared_names import DeclaredNamesOperator

    flows = DeclaredNamesOperator(task_id="flows", parameter="flow", section="observed_flows", kind="observed flow")
    assert flows.execute(CONTEXT) == ["invoices"]
    assert flows.execute({**CONTEXT, "params": {"flow": "invoices"}}) == ["invoices"]
    with pytest.raises(SystemExit, match="orders"):
        flows.execute({**CONTEXT, "params": {"flow": "orders"}})
