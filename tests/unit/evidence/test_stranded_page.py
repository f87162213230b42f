"""The page that shows what an unplanned failover left behind."""

from __future__ import annotations

from kafka_dr.evidence.audit_view import build_stranded_view
from kafka_dr.evidence.page import render_audit

SUMMARY = {
    "group": "orders",
    "run": "disaster",
    "old": "east",
    "verdict": "stranded",
    "sentence": "20 records of east never copied to west",
    "at": "2026-01-01T00:00:00+00:00",
    "records": 20,
    "partitions": [
        {
            "topic": "orders.<b>payments",
            "partition": 0,
            "records": 20,
            "ranges": [[100, 110], [115, 125]],
            "keys": 3,
            "oldest_ms": 1_767_225_600_000,
            "newest_ms": 1_767_225_661_000,
        },
        {"topic": "orders.quiet", "partition": 0, "records": 0, "ranges": []},
    ],
    "files": [{"path": "records-1/part-0.parquet", "size": 500}],
}


def test_it_shows_exact_offsets_keys_and_times_and_where_the_records_are() -> None:
    page = render_audit(build_stranded_view(SUMMARY))
    for shown in (
        "100 to 109, 115 to 124",
        "2026-01-01 00:01:01 UTC",
        "records-1/part-0.parquet",
        "20 records of east",
    ):
        assert shown in page
    assert "orders.quiet" not in page
    assert "<b>" not in page
    assert "badge verdict warn" in page


def test_a_list_that_says_nothing_never_looks_good() -> None:
    assert build_stranded_view({}).colour == "unknown"
    assert build_stranded_view({"verdict": None}).colour == "unknown"
    assert build_stranded_view({**SUMMARY, "verdict": "nothing", "partitions": []}).colour == "good"
