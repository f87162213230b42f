"""The newest result of a watch: since when it is so, what was before, and what is not believed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.watch_results import WATCHES, KeptResult, Period, WatchOutcome, WatchResultStore, read_status

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def look(outcome: WatchOutcome, at: datetime, *sentences: str) -> KeptResult:
    return KeptResult("orders", "health", outcome, sentences or (f"it is {outcome}",), at, run=f"run at {at:%H:%M}")


def looked(*looks: tuple[WatchOutcome, int]) -> KeptResult:
    """Return what is kept after looks with these outcomes, so many minutes after noon."""
    kept: KeptResult | None = None
    for outcome, minute in looks:
        kept = look(outcome, NOON + minute * MINUTE).after(kept)
    assert kept is not None
    return kept


def test_a_result_that_stays_the_same_says_since_when() -> None:
    kept = looked(("failed", 0), ("ok", 1), ("ok", 2), ("ok", 3))
    assert (kept.begun, kept.looked_at) == (NOON + MINUTE, NOON + 3 * MINUTE)
    assert kept.history == (Period("failed", NOON, NOON, "it is failed"),)


def test_a_time_in_which_nobody_looked_is_not_counted_as_good() -> None:
    kept = looked(("ok", 0), ("ok", 60))
    assert kept.begun == NOON + 60 * MINUTE
    assert kept.history == (Period("ok", NOON, NOON, "it is ok"),)


def test_the_past_is_short_and_young() -> None:
    kept = looked(*(("ok" if minute % 2 else "failed", minute) for minute in range(300)))
    assert len(kept.history) == 100
    assert look("ok", NOON + timedelta(days=15)).after(kept).history == ()


def test_what_looks_did_is_summed_over_all_looks_also_those_that_found_nothing() -> None:
    added = replace(look("failed", NOON), facts={"denies_added": 3}).after(None)
    silent = look("unknown", NOON + MINUTE).after(added)
    again = replace(look("failed", NOON + 2 * MINUTE), facts={"denies_added": 2}).after(silent)
    assert [each.totals for each in (added, silent, again)] == [{"denies_added": total} for total in (3, 3, 5)]
    assert KeptResult.from_json(json.loads(json.dumps(again.to_json()))).totals == {"denies_added": 5}


def test_a_topic_that_a_pattern_matches_is_known_since_the_first_look_that_saw_it() -> None:
    def seen(minute: int, *topics: str) -> KeptResult:
        rows = [{"topic": topic, "pattern": "eu.*"} for topic in topics]
        return replace(look("ok", NOON + minute * MINUTE), facts={"matched_topics": rows})

    could_not_ask = look("unknown", NOON + 2 * MINUTE).after(seen(1, "eu.a").after(None))
    later = seen(3, "eu.a", "eu.b").after(could_not_ask)
    assert [(row["topic"], row["since"]) for row in later.facts["matched_topics"]] == [
        ("eu.a", "2026-03-01T12:01:00+00:00"),
        ("eu.b", "2026-03-01T12:03:00+00:00"),
    ]
    assert seen(4).after(later).facts["matched_topics"] == []


def test_a_page_is_not_flooded_by_one_look() -> None:
    kept = look("failed", NOON, *(["x" * 5000] * 90)).after(None)
    assert len(kept.sentences) == 41
    assert max(map(len, kept.sentences)) == 1000
    assert kept.sentences[-1] == "50 more sentences are in the log of the task"


@given(
    st.lists(st.sampled_from(["ok", "failed", "unknown", "left_alone"]), min_size=1, max_size=30),
    st.integers(0, 10),
)
def test_what_is_kept_is_read_as_it_was_written(outcomes: list[str], step: int) -> None:
    kept = looked(*((cast("WatchOutcome", each), step * n) for n, each in enumerate(outcomes)))
    assert KeptResult.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    times = [time for period in kept.history for time in (period.until, period.since)]
    assert [kept.looked_at, kept.begun, *times] == sorted([kept.looked_at, kept.begun, *times], reverse=True)


def status(root: Path, now: datetime) -> Any:
    return read_status(["orders"], WatchResultStore(root), now)[0]


def test_a_watch_that_never_looked_is_unknown(tmp_path: Path) -> None:
    assert status(tmp_path, NOON).outcome == "unknown"
    assert status(tmp_path, NOON).of("canary").reason.startswith("dr_canary has not looked yet")


def everything_is_good(root: Path, at: datetime) -> None:
    for watch in WATCHES:
        WatchResultStore(root).keep(replace(look("ok", at), watch=watch))


def test_a_group_is_good_only_if_every_watch_looked_and_found_it_good(tmp_path: Path) -> None:
    everything_is_good(tmp_path, NOON)
    assert status(tmp_path, NOON + MINUTE).outcome == "ok"
    WatchResultStore(tmp_path).keep(look("left_alone", NOON + MINUTE))
    assert status(tmp_path, NOON + MINUTE).outcome == "left_alone"
    WatchResultStore(tmp_path).keep(look("failed", NOON + 2 * MINUTE))
    assert status(tmp_path, NOON + 2 * MINUTE).named("failed") == ("health",)


def test_a_result_that_is_too_old_is_unknown_whatever_it_says(tmp_path: Path) -> None:
    everything_is_good(tmp_path, NOON)
    found = status(tmp_path, NOON + 4 * MINUTE)
    assert found.named("unknown") == ("health", "canary")
    assert found.of("health").reason.startswith("the newest result is older than 3 min")


def test_a_result_from_the_future_is_unknown(tmp_path: Path) -> None:
    everything_is_good(tmp_path, NOON + timedelta(hours=3))
    found = status(tmp_path, NOON)
    assert found.named("ok") == ()
    assert "compare the clocks" in found.of("health").reason


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "great"},
        {"looked_at": "yesterday"},
        {"looked_at": "2026-03-01T12:00:00"},
        {"group": "payments"},
        {"watch": "lag"},
        {"schema_version": 2},
        {"history": [{}]},
        {"facts": [1]},
    ],
    ids=str,
)
def test_a_damaged_result_makes_one_watch_unknown_and_is_replaced_by_the_next_look(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    everything_is_good(tmp_path, NOON)
    path = tmp_path / "watches" / "orders" / "health.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    found = status(tmp_path, NOON)
    assert found.named("unknown") == ("health",)
    assert found.of("health").reason.startswith("its kept result cannot be read: ")
    with pytest.raises(DocumentDamaged):
        WatchResultStore(tmp_path).read("orders", "health")
    everything_is_good(tmp_path, NOON)
    assert status(tmp_path, NOON).outcome == "ok"
