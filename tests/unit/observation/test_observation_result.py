"""The one result of a look: the sentence says what is known, and what is not known is never good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_observation
from kafka_dr.observation import FlowObservation
from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.observation.groups import GroupPosition, PositionCost
from kafka_dr.observation.records import ReadLog
from kafka_dr.positions import TopicPartition
from kafka_dr.readers.covered import CoveredReader
from support.seen_logs import PARTITION, compared, log, numbered, seen
from support.shown_reports import not_shown
from support.visible_text import visible_words

OTHER = TopicPartition("orders", 1)


def observation(
    *partitions: PartitionComparison, positions: tuple[GroupPosition, ...] = (), **more: object
) -> FlowObservation:
    clean = FlowObservation(
        "theirs",
        datetime(2026, 1, 1, tzinfo=UTC),
        ("east", "west"),
        ("id-east", "id-west"),
        dict(zip((PARTITION, OTHER), partitions, strict=False)),
        {},
        positions,
        (),
        (),
        (),
    )
    return replace(clean, **more)  # type: ignore[arg-type]


def equal(records: int = 10) -> PartitionComparison:
    return compared(numbered(range(records)), numbered(range(records)))


def position(*, begin: int | None = 3, again: int | None = 0, skipped: int | None = 0) -> GroupPosition:
    used = "nothing" if begin is None else "checkpoint"
    return GroupPosition("ledger", PARTITION, 3, 3, used, begin, PositionCost(again, skipped))  # type: ignore[arg-type]


def newest() -> ReadLog:
    return log((seen(n, n) for n in range(4, 10)), read_from=4)


def test_an_equal_copy_with_exact_positions_is_good_and_says_so() -> None:
    found = observation(equal(), positions=(position(),))

    assert found.verdict == "ok"
    assert found.sentence == (
        "If you failed over from east to west now, by what you have, you would lose 0 records and deliver 0 records "
        "again; no group would skip unread records."
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (observation(), "it is not known what you would lose, because no record could be compared"),
        (
            observation(equal(), left_out={OTHER: "not reached"}),
            "Partitions that were not compared, and of which nothing is known: 1",
        ),
        (observation(equal(), not_looked_at=("settings were not looked at",)), "lose 0 records"),
        (observation(compared(newest(), newest())), "lose 0 records"),
        (observation(compared(numbered(range(10)), newest())), "lose at least 0 records"),
        (observation(equal(), positions=(position(again=None),)), "deliver at least 0 records again"),
        (observation(equal(), positions=(position(skipped=None),)), "of ledger it is not known"),
        (observation(equal(), retention=({"verdict": "unknown"},)), "lose 0 records"),
    ],
)
def test_what_is_not_known_is_never_good(found: FlowObservation, said: str) -> None:
    assert found.verdict == "unknown"
    assert said in found.sentence
    view = build_observation_view(found.to_json())
    assert view.colour == "unknown"
    if not found.compared:
        assert (view.figures[0].text, view.figures[0].kept) == ("unknown", "unknown")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (observation(compared(numbered(range(10)), numbered([0, 1, *range(4, 10)]))), "lose 2 records"),
        (observation(compared(numbered(range(10)), numbered(range(9)))), "lose 1 record "),
        (
            observation(compared(numbered(range(10)), numbered([0, 1, *range(4, 9)]))),
            "lose 3 records and deliver 0 records again; no consumer group was looked at. "
            "Of the records that you would lose, these are only not copied yet: 1.",
        ),
        (observation(equal(), positions=(position(skipped=7),)), "ledger (7) would skip unread records"),
        (observation(equal(), positions=(position(begin=None),)), "ledger would find no position there"),
        (observation(equal(), configuration=({"verdict": "failed"},)), "Settings that must be equal and differ: 1"),
        # What is wrong is not hidden by what is unknown.
        (observation(compared(numbered(range(10)), numbered(range(9))), left_out={OTHER: "x"}), "lose at least 1 rec"),
    ],
)
def test_what_is_wrong_is_said(found: FlowObservation, said: str) -> None:
    assert found.verdict == "failed"
    assert said in found.sentence


def test_what_comes_twice_is_a_warning() -> None:
    found = observation(compared(numbered(range(5)), numbered([0, 1, 1, 2, 3, 4])), positions=(position(again=3),))

    assert found.verdict == "warning"
    assert "deliver 3 records again" in found.sentence
    assert "On west there are also: 1 second copy." in found.sentence


def test_records_in_flight_would_be_lost_and_make_no_copy_bad() -> None:
    found = observation(compared(numbered(range(10)), numbered(range(8)), late_before=0))

    assert found.verdict == "ok"
    assert "you would lose 2 records" in found.sentence


def test_the_table_of_partitions_leaves_out_what_none_has() -> None:
    found = observation(compared(numbered(range(10)), numbered([0, 1, *range(4, 10)])), equal())
    tables = {table.title: table.columns for table in build_observation_view(found.to_json()).tables}

    assert "Lost" in tables["Partitions"]
    assert "Corrupted" not in tables["Partitions"]
    assert "End of the target" in tables["Partitions"]


def test_the_page_shows_names_as_text_and_loads_nothing() -> None:
    hostile = replace(position(skipped=1), group="<script>alert(1)</script>")
    page = render_observation(build_observation_view(observation(equal(), positions=(hostile,)).to_json()))

    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "not fit for a failover" in page
    assert "src=" not in page
    assert "href=" not in page


def test_the_worst_differences_are_shown_first_and_what_is_not_shown_is_counted() -> None:
    twice = compared(numbered(range(5)), numbered([0, 1, 1, 2, 3, 4]))
    holes = compared(numbered(range(603)), numbered(n for n in range(603) if n % 2 or n > 500))
    found = observation(twice, holes).to_json()

    assert {row["kind"] for row in found["findings"]} == {"lost"}
    assert len(found["findings"]) == 200
    assert found["findings_not_shown"] == 251 + 1 - 200
    page = render_observation(build_observation_view(found))
    assert "Records that differ: the worst ones; 52 more are only counted" in page


def test_many_runs_of_second_copies_are_one_row_with_all_of_them() -> None:
    many = compared(numbered(range(50)), numbered(each for n in range(50) for each in (n, n)))
    few = compared(numbered(range(5)), numbered([0, 0, 1, 2, 3, 3, 4]))

    (row,) = observation(many).to_json()["findings"]
    assert (row["count"], row["target_offset"]) == (50, 1)
    assert row["detail"] == "copied once more; 50 runs, of which this is the first"
    assert [row["target_offset"] for row in observation(few).to_json()["findings"]] == [1, 5]


def test_the_page_says_what_each_kind_means_and_how_long_a_week_is() -> None:
    retention = {"topic": "orders", "verdict": "ok", "seconds": 604_790.0, "meaning": "everything is copied"}
    found = observation(
        compared(numbered(range(10)), numbered([0, 1, *range(4, 10)])),
        positions=(position(again=3),),
        retention=(retention,),
    )
    page = render_observation(build_observation_view(found.to_json()))

    assert "later records have a copy, this one has none" in page
    assert "6 days 23 h" in page
    assert "Read again" in page


#: Everything that a look can find wrong, of many groups with long names.
_WORST = observation(
    compared(numbered(range(10)), numbered([0, 1, 3, 2, 2, *range(5, 9), 77])),
    positions=tuple(
        replace(position(begin=begin, again=None, skipped=skipped), group=f"{n}-billing-of-the-north", metadata="wrong")
        for n in range(9)
        for begin, skipped in ((None, None), (3, n or None))
    ),
    left_out={OTHER: "it was not reached in time"},
    configuration=tuple(
        {"topic": "orders", "setting": key, "verdict": "failed", "source": "1", "target": value, "meaning": "x"}
        for key, value in (("retention.ms", None), ("retention.bytes", "2"))
    ),
    retention=({"topic": "orders", "verdict": "unknown", "seconds": None, "meaning": "nobody looked"},),
    not_looked_at=("settings were not looked at",),
    audits=({"audit": "Lag audit", "verdict": "failed", "at": "", "since": "", "said": "late", "first": "look"},),
    readers=(CoveredReader("workers", "share", "share", "start it again", best="unknown"),),
    held_back="3 acknowledged records and 2 records that may still be aborted are held back by open transactions",
)


def test_the_finding_comes_before_the_tables_in_a_hundred_words() -> None:
    page = render_observation(build_observation_view(_WORST.to_json()))
    head, _, _ = page.partition("<h2>")
    words = " ".join(visible_words(head))
    assert len(words.split()) <= 95, f"five more words lead back: {words}"
    assert "not fit for a failover If you failed over from east to west now" in words
    assert "On east 3 acknowledged records" in page


def test_every_list_of_a_report_has_a_table_made_for_it_and_no_heading_is_a_key() -> None:
    report = _WORST.to_json()
    assert not not_shown("observation", report)
    tables = {table.title: table for table in build_observation_view(report).tables}
    labels = {label for table in tables.values() for label in table.columns}
    keys = {key.replace("_", " ").capitalize() for key in _keys(report) if "_" in key}
    assert labels & keys <= {"Equal until", "To do"}, "these are words of people, too"
    assert not {label for label in labels if "_" in label}
    shown = {title: {cell.text for row in table.rows for cell in row} for title, table in tables.items()}
    assert "none" in shown["Settings that differ"], "a setting that only one cluster has is known"
    assert "not known" not in shown["For how long the source keeps what is not copied"]
    assert "not known" in shown["Groups: what a failover by the existing positions would do"]


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(each)
