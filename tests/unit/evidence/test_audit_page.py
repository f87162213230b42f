from __future__ import annotations

from typing import Any

import pytest

from kafka_dr.evidence.audit_view import build_audit_view
from kafka_dr.evidence.page import render_audit

REPORT: dict[str, Any] = {
    "schema_version": 1,
    "flow": "orders.east-to-west",
    "verdict": "findings",
    "sentence": "orders.a-0: the oldest record waits for 400 s.",
    "at": "2026-03-01T12:00:00+00:00",
    "records_read": 1234567,
    "limits_seconds": {"record_age": 60.0},
    "findings": [{"kind": "late", "where": "<b>orders.a-0</b>", "value": 400.0, "limit": None}],
    "replication": {
        "verdict": "STALL",
        "latency": {"p99_seconds": 0.5},
        "partitions": [{"topic": "orders.a", "partition": 0, "latency": {"p99_seconds": 0.25}, "exact": True}],
    },
    "groups": [
        {"group": "billing", "verdict": "OK", "partitions": [{"topic": "orders.a", "verdict": "OK", "records": 7}]},
        {"group": "ledger", "verdict": "STOP", "partitions": [{"topic": "orders.b", "verdict": "STOP", "records": 9}]},
    ],
}


def rows(title: str) -> list[list[str]]:
    (table,) = (each for each in build_audit_view("lag", "orders", REPORT).tables if each.title == title)
    return [list(table.columns), *([cell.text for cell in row] for row in table.rows)]


def test_findings_come_first_and_every_list_is_a_table() -> None:
    titles = [table.title for table in build_audit_view("lag", "orders", REPORT).tables]
    assert titles == ["Findings", "Measured", "Replication partitions", "Groups", "Groups: Partitions"]


def test_sections_within_are_shown_under_both_names() -> None:
    measured = dict(rows("Measured")[1:])
    assert measured["Records read"] == "1,234,567"
    assert measured["Limits seconds record age"] == "60.0"
    assert measured["Replication latency p99 seconds"] == "0.5"
    assert rows("Replication partitions") == [
        ["Topic", "Partition", "Latency p99 seconds", "Exact"],
        ["orders.a", "0", "0.25", "yes"],
    ]


def test_rows_of_rows_say_whose_they_are() -> None:
    assert rows("Groups: Partitions") == [
        ["Group", "Topic", "Verdict", "Records"],
        ["billing", "orders.a", "OK", "7"],
        ["ledger", "orders.b", "STOP", "9"],
    ]


def test_the_page_shows_what_came_from_clusters_as_text_and_needs_nothing_else() -> None:
    page = render_audit(build_audit_view("lag", "orders, east-to-west", REPORT))
    assert "<title>Lag audit of orders, east-to-west: findings</title>" in page
    assert "&lt;b&gt;orders.a-0" in page
    assert "<b>orders" not in page
    assert '<span class="badge verdict bad">findings</span>' in page
    assert '<span class="badge bad">STOP</span>' in page
    assert "2026-03-01 12:00:00.000 UTC" in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("verdict", "colour"),
    [
        ("equal", "good"),
        ("ok", "good"),
        ("groups late", "warn"),
        ("groups not judged yet", "unknown"),
        ("findings", "bad"),
        ("unknown", "unknown"),
        ("whatever", "unknown"),
    ],
)
def test_only_a_good_verdict_looks_good(verdict: str, colour: str) -> None:
    assert build_audit_view("checksum", "orders", {"verdict": verdict}).colour == colour
    assert build_audit_view("checksum", "orders", {}).colour == "unknown"


def test_no_findings_are_said_to_be_none_and_too_many_are_counted() -> None:
    assert "None." in render_audit(build_audit_view("lag", "orders", {"verdict": "ok", "findings": []}))
    many = {"verdict": "findings", "findings": [{"kind": "lost", "source_offset": number} for number in range(600)]}
    assert "100 more are in report.json." in render_audit(build_audit_view("checksum", "orders", many))


def test_groups_that_make_no_progress_come_before_the_figures_and_offsets_are_called_offsets() -> None:
    late = [{"group": "ledger", "sentence": "ledger STOP (nobody is there to read)"}]
    report = {"verdict": "groups late", "findings": [], "groups_late": late, "coverage": {"produced": 5, "control": 2}}
    view = build_audit_view("lag", "orders", report)
    assert [table.title for table in view.tables][:3] == [
        "Findings",
        "Consumer groups that make no progress",
        "Measured",
    ]
    assert [row[0].text for row in view.tables[2].rows] == ["Offsets given out", "Offsets without a record"]
