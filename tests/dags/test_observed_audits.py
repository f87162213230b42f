"""Audits of observed flows next to those of groups: one submit, a result for each, and no register."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.connection import Connection
from airflow.sdk import AssetAlias

from kafka_dr.watch_results import WatchResultStore
from kafka_dr_airflow.operators.audit_shares import AuditResultsOperator, AuditSharesOperator
from kafka_dr_airflow.operators.rounds import due_groups
from kafka_dr_airflow.operators.shared_audits import SharedAuditsOperator
from kafka_dr_airflow.topology_file import read_topology
from support.spark_stand_in import PASSWORD, stand_in

OBSERVED = """
observed_flows:
  invoices:
    source: {name: berlin, connection: kafka_berlin_observer}
    target: {name: hamburg, connection: kafka_hamburg_observer}
    naming: {policy: default, source_alias: berlin}
    topic_prefixes: [invoices.]
    audits: {}
  watched:
    source: {name: berlin, connection: kafka_berlin_observer}
    target: {name: hamburg, connection: kafka_hamburg_observer}
    topics: [clicks]
    canary: {topic: clicks, connection: kafka_berlin_canary}
evidence: {root: %s}
"""
FLOW = "invoices.berlin-to-hamburg"
LOST = (1, "findings: 2 LOST", {"verdict": "findings", "sentence": "2 LOST", "at": "2026-03-01T12:00:00+00:00"})
GOOD = (0, "equal: all of it", {"verdict": "equal", "sentence": "all of it", "at": "2026-03-01T12:00:00+00:00"})
HIDDEN = (2, "not looked at: x", {"verdict": "unknown", "sentence": "not looked at: x"})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Declare two observed flows, and no protection group; return the evidence root."""
    path = tmp_path / "topology.yaml"
    path.write_text(OBSERVED % (tmp_path / "evidence"))
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "observer"}
    login |= {"bootstrap.servers": "127.0.0.1:1", "sasl.password": PASSWORD}
    ends = [
        Connection(conn_id=f"kafka_{name}_observer", conn_type="kafka", extra=json.dumps(login))
        for name in ("berlin", "hamburg")
    ]
    stand_in(tmp_path, {"KAFKA_DR_TOPOLOGY": str(path)}, monkeypatch, connect=ends)
    return tmp_path / "evidence"


def context(xcoms: dict[str, Any] | None = None, **params: object) -> dict[str, Any]:
    def pull(*, task_ids: str, map_indexes: Any = None) -> Any:
        found = (xcoms or {})[task_ids]
        return found if map_indexes is None else [found[n] for n in map_indexes]

    ti = SimpleNamespace(
        try_number=1, max_tries=0, xcom_pull=pull, xcom_push=lambda **_: None, dag_id="d", run_id="scheduled__1"
    )
    run: Any = SimpleNamespace(run_type="scheduled")
    return {"params": params, "run_id": "scheduled__1", "dag_run": run, "ti": ti}


def audited(monkeypatch: pytest.MonkeyPatch, ending: Any, *, audit: str, **params: object) -> tuple[Any, list[str]]:
    for name, value in (("GIVEN", json.dumps({audit: ending})), ("ENDS", "0"), ("SAYS", "something")):
        monkeypatch.setenv(name, value)
    added: list[str] = []
    operator = SharedAuditsOperator(
        task_id="audits", protection_groups=["invoices"], audit=audit, outlets=[AssetAlias("verified")]
    )
    events = SimpleNamespace(add=lambda asset, extra: added.append(asset.uri))
    given: dict[str, Any] = {**context(), "params": params, "outlet_events": dict.fromkeys(operator.outlets, events)}
    (found,) = operator.execute(given)
    return found, added


def test_a_flow_is_due_where_it_has_audits_and_where_it_has_a_canary(root: Path) -> None:
    assert AuditSharesOperator(audit="checksum").execute(context()) == [["invoices"]]
    assert AuditSharesOperator(audit="lag").execute(context(flow=FLOW)) == [["invoices"]]
    topology = read_topology(os.environ)
    assert due_groups(None, topology, "canary", {"dag_run": SimpleNamespace(run_type="manual")}) == ["watched"]
    with pytest.raises(SystemExit, match="declares no audits of the observed flow watched"):
        AuditSharesOperator(audit="lag").execute(context(flow="watched.berlin-to-hamburg"))


@pytest.mark.parametrize("audit", ["checksum", "lag"])
def test_the_job_gets_the_connections_of_the_observer_and_its_result_is_kept(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audit: str
) -> None:
    found, added = audited(monkeypatch, GOOD, audit=audit)

    seen = json.loads((tmp_path / "seen.json").read_text())
    (asked,) = json.loads((tmp_path / "seen.json.requests").read_text())["requests"]
    assert (asked["audit"], asked["flow"]) == (audit, FLOW)
    assert set(json.loads(seen["content"])) == {"kafka_berlin_observer", "kafka_hamburg_observer"}
    assert PASSWORD not in json.dumps(seen["argv"])
    assert (found["group"], found["outcome"], added) == (
        "invoices",
        "ok",
        [f"kafka-dr://invoices/berlin-to-hamburg/{audit}"],
    )
    assert found["facts"]["report"].startswith(f"audits/invoices/{audit}/berlin-to-hamburg/")
    kept = WatchResultStore(root).read("invoices", "checksum" if audit == "checksum" else "lag")
    assert kept is not None
    assert (kept.outcome, kept.sentences) == ("ok", ("all of it",))


@pytest.mark.parametrize(
    ("ending", "outcome", "said"),
    [(LOST, "failed", ["2 LOST"]), (HIDDEN, "unknown", ["not looked at: x"])],
)
def test_a_red_flow_is_one_red_line_with_a_result_of_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch, ending: Any, outcome: str, said: list[str]
) -> None:
    found, added = audited(monkeypatch, ending, audit="checksum")
    *sentences, first = found["sentences"]
    assert (found["outcome"], sentences, added) == (outcome, said, [])
    assert first.startswith("first: ")

    xcoms = {"shares": [["invoices"]], "checksum_audit": [[found]]}
    (row,) = AuditResultsOperator(audit="checksum").execute(context(xcoms))
    assert (row["protection_group"], row["outcome"], row["red"]) == ("invoices", outcome, True)
    kept = WatchResultStore(root).read_round("checksum")["invoices"]
    assert (kept.outcome, kept.sentences[:-1]) == (outcome, tuple(said))
