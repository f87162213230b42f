"""What is kept of the audits of an observed flow: since when, what to do, and never good where it cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_observation
from kafka_dr.observation import KeptAudits, kept_audits
from kafka_dr.topology.observed import ObservedFlowSpec
from kafka_dr.watch_results import KeptResult, WatchResultStore

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def flow(**more: Any) -> ObservedFlowSpec:
    ends = {name: {"name": name, "connection": name} for name in ("source", "target")}
    return ObservedFlowSpec.model_validate({"name": "theirs", **ends, "topics": ("orders",), **more})


def kept_by_a_watch(root: Path, watch: Any, outcome: Any, said: str, *, minutes: float = 0) -> None:
    at = AT + timedelta(minutes=minutes)
    WatchResultStore(root).keep(KeptResult("theirs", watch, outcome, (said,), at))


def by_hand(root: Path, verdict: AuditVerdict, *, minutes: float = 0) -> None:
    at = AT + timedelta(minutes=minutes)
    found = AuditResult(AuditKind.CHECKSUM, "theirs", "source", "target", None, verdict, at, "by hand")
    ResultStore(root).write(found)


def test_a_flow_without_audits_has_no_lines() -> None:
    assert kept_audits(Path("/nowhere"), flow()) == KeptAudits()


def test_the_newest_result_of_each_is_shown_with_since_when_and_what_to_do(tmp_path: Path) -> None:
    declared = flow(audits={}, canary={"topic": "orders", "connection": "canary"})
    kept_by_a_watch(tmp_path, "checksum", "failed", "2 LOST")
    kept_by_a_watch(tmp_path, "checksum", "failed", "3 LOST", minutes=15)
    kept_by_a_watch(tmp_path, "canary", "ok", "1 of 1 canaries arrived")
    found = kept_audits(tmp_path, declared)

    checksum, lag, canary = found.rows
    assert (checksum["verdict"], checksum["said"]) == ("failed", "3 LOST")
    assert (checksum["at"], checksum["since"]) == ("2026-03-01 12:15 UTC", "2026-03-01 12:00 UTC")
    assert checksum["first"].startswith("open its report")
    assert (lag["verdict"], lag["said"], lag["first"]) == ("unknown", "there was none yet", "unpause dr_lag_audit")
    assert (canary["verdict"], canary["first"]) == ("ok", "")
    assert found.problems == ()


@pytest.mark.parametrize(("minutes", "said"), [(5, "by hand"), (-5, "all of it")])
def test_an_audit_by_hand_counts_where_it_is_newer(tmp_path: Path, minutes: float, said: str) -> None:
    kept_by_a_watch(tmp_path, "checksum", "ok", "all of it")
    by_hand(tmp_path, AuditVerdict.RED, minutes=minutes)
    row = kept_audits(tmp_path, flow(audits={})).rows[0]
    assert (row["said"], row["verdict"]) == (said, "failed" if said == "by hand" else "ok")


def test_what_cannot_be_read_is_unknown_and_named(tmp_path: Path) -> None:
    state = tmp_path / "audits" / "theirs" / "checksum" / "source-to-target" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text("{")
    (tmp_path / "watches").mkdir()
    (tmp_path / "watches" / "lag.json").write_text("[]")
    found = kept_audits(tmp_path, flow(audits={}))
    assert found.settled is None
    assert {row["verdict"] for row in found.rows} == {"unknown"}
    assert any("what checksum audits have found cannot be read" in each for each in found.problems)
    assert any("the newest result of lag cannot be read" in each for each in found.problems)


def test_the_page_shows_them_and_that_nothing_keeps_their_digests(tmp_path: Path) -> None:
    kept_by_a_watch(tmp_path, "checksum", "failed", "2 <b>LOST</b>")
    rows = [dict(row) for row in kept_audits(tmp_path, flow(audits={})).rows]
    page = render_observation(build_observation_view({"flow": "theirs", "verdict": "ok", "audits": rows}))
    assert "Audits of the whole flow" in page
    assert "2 &lt;b&gt;LOST&lt;/b&gt;" in page
    assert "<th>So since</th>" in page
    assert "<td>2026-03-01 12:00 UTC</td>" in page
    assert "<td>unpause dr_lag_audit</td>" in page
    assert "Results of audits are files whose digests no register has" in page
    assert "Audits of the whole flow" not in render_observation(build_observation_view({"verdict": "ok"}))
