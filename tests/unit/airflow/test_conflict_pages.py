"""What a conflict audit has found is on pages of its own: its result, and its report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.evidence.audit_view import build_audit_view
from kafka_dr.evidence.page import render_audit
from kafka_dr.watch_results import CONFLICTS, KeptResult, WatchResultStore
from support.conflict_block import conflict_report, declared_block

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

LAB = Path(__file__).parents[3] / "include" / "topology.yaml"
REPORT = "audits/shop/conflicts/all-members/20261129T120000Z.scheduled.1/report.json"


def test_a_page_shows_each_finding_by_member_partition_and_offset() -> None:
    page = render_audit(build_audit_view("conflicts", "shop", conflict_report("certain")))
    assert "3 certain conflicts and 0 possible ones between east, west in 9 new records" in page
    said = "certain write-write: key 0a1b: east baskets-0 offset 7 and west baskets-0 offset 3 (deletes), 12 ms apart"
    assert f"{said}, west wins, within the clock skew" in page


def test_the_result_of_a_block_has_a_page_that_leads_to_its_report(
    root: Path, pages: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(declared_block(LAB, tmp_path)))
    found = conflict_report("possible")
    facts = {"possible": 3, "report": REPORT}
    now = datetime.now(UTC)
    kept = KeptResult(
        group="shop",
        watch=CONFLICTS.name,
        outcome="warning",
        sentences=(found["sentence"],),
        looked_at=now,
        run="scheduled",
        facts=facts,
    )
    WatchResultStore(root).keep(kept)
    (root / REPORT).parent.mkdir(parents=True)
    (root / REPORT).write_text(json.dumps(found))
    shown = pages.get("/results/shop/conflicts")
    assert shown.status_code == 200
    assert "3 possible ones between east, west" in shown.text
    address = REPORT.removesuffix("/report.json")
    assert address in shown.text
    assert "possible write-write: key 0a1b" in pages.get(f"/{address}").text
    assert pages.get("/groups/shop").status_code == 200
