from __future__ import annotations

import re
from typing import Any

import pytest

from kafka_dr.evidence.audit_view import build_audit_view
from kafka_dr.evidence.page import render_audit
from kafka_dr.evidence.tables import Cell, Table
from support.visible_text import visible_words

REPORT: dict[str, Any] = {
    "schema_version": 1,
    "flow": "orders.east-to-west",
    "verdict": "findings",
    "sentence": "orders.a-0: the oldest record waits for 400 s.",
    "at": "2026-03-01T12:00:00+00:00",
    "records_read": 1234567,
    "limits_seconds": {"record_age": 60.0},
    "findings": [{"kind": "late", "sentence": "<b>orders.a-0</b>: the oldest record waits", "limit": None}],
    "replication": {
        "verdict": "STALL",
        "latency": {"p99_seconds": 0.5},
        "partitions": [
            {"topic": "orders.a", "partition": 0, "seconds": None, "latency": {"p99_seconds": 0.25}, "deleted": 0},
            {"topic": "orders.a", "partition": 1, "seconds": 180.0, "latency": None, "deleted": 0},
        ],
    },
    "groups": [
        {"group": "billing", "verdict": "OK", "partitions": [{"topic": "orders.a", "verdict": "OK", "records": 7}]},
        {"group": "ledger", "verdict": "STOP", "partitions": [{"topic": "orders.b", "verdict": "STOP", "records": 9}]},
    ],
}


def table(title: str) -> Table:
    (found,) = (each for each in build_audit_view("lag", "orders", REPORT).tables if each.title == title)
    return found


def shown(table: Table, rows: tuple[tuple[Cell, ...], ...]) -> list[dict[str, str]]:
    return [dict(zip(table.columns, (cell.text for cell in row), strict=True)) for row in rows]


def test_findings_come_first_then_what_a_person_asks_and_how_it_was_measured_is_folded() -> None:
    titles = {each.title: each.folded for each in build_audit_view("lag", "orders", REPORT).tables}
    assert titles == {
        "Findings": False,
        "Consumer groups": False,
        "Partitions of the flow": False,
        "Partitions of the consumer groups": True,
        "How it was measured": True,
    }


def test_what_is_ok_is_one_line_and_the_rest_is_a_row_that_says_whose_it_is() -> None:
    groups, partitions = table("Consumer groups"), table("Partitions of the consumer groups")
    assert shown(groups, groups.rows) == [{"Group": "ledger", "Result": "STOP"}]
    assert shown(groups, groups.well) == [{"Group": "billing", "Result": "OK"}]
    assert shown(partitions, partitions.rows) == [
        {"Group": "ledger", "Topic": "orders.b", "Result": "STOP", "Records that wait": "9"}
    ]
    page = render_audit(build_audit_view("lag", "orders", REPORT))
    assert "<summary>1 more is ok</summary>" in page


def test_values_have_units_what_is_not_known_says_so_and_a_column_of_nothing_is_left_out() -> None:
    flow, measured = table("Partitions of the flow"), table("How it was measured")
    assert shown(flow, flow.rows) == [
        {"Topic": "orders.a", "Partition": "0", "The oldest waits": "not known", "99 of 100 arrive within": "0.25 s"},
        {"Topic": "orders.a", "Partition": "1", "The oldest waits": "3 min", "99 of 100 arrive within": "not known"},
    ]
    assert [[cell.text for cell in row] for row in measured.rows] == [
        ["Records read", "1,234,567"],
        ["A record may be this old before it is copied", "60 s"],
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


def test_too_many_findings_are_counted() -> None:
    many = {"verdict": "findings", "findings": [{"sentence": f"lost: {number}"} for number in range(600)]}
    assert "100 more are in report.json." in render_audit(build_audit_view("checksum", "orders", many))


def test_what_an_audit_says_first_is_read_at_a_glance_and_no_key_of_its_report_is_shown() -> None:
    page = render_audit(build_audit_view("lag", "orders", REPORT))
    before, _, _ = page.partition("<table")
    assert len(visible_words(before)) <= 100
    assert not re.search(r"\b[a-z]+_[a-z_]+\b", " ".join(visible_words(page.replace("<details", "<details open"))))
