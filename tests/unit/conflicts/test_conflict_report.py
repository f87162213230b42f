"""What a conflict audit says first, and that unknown is never green."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_dr.conflicts.report import ConflictCount, ConflictReport, OriginRead, StrayCount, in_words

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def report(*counts: ConflictCount, **hidden: int) -> ConflictReport:
    reads = (OriginRead("east", "baskets", 0, 0, 90, records=80, **hidden), OriginRead("west", "baskets", 0, 0, 20, 20))
    return ConflictReport("shop", AT, False, ("east", "west"), 200, "hashed", counts, reads)


def met(number: int, **changed: Any) -> ConflictCount:
    same: dict[str, Any] = {"kind": "write_write", "certainty": "certain", "equal": False, "within_skew": False}
    return ConflictCount("baskets", "east", "west", **(same | changed), count=number)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (report(), "ok"),
        (report(met(1, certainty="possible")), "warning"),
        (report(met(1, kind="partition_differs", certainty="ordered")), "warning"),
        (report(met(1)), "findings"),
        (report(met(1), expired=1), "findings"),
        (report(met(1, certainty="possible"), expired=1), "unknown"),
        *((report(**{hidden: 1}), "unknown") for hidden in ("expired", "compacted", "untimed", "late")),
    ],
)
def test_what_is_not_known_is_never_green_and_hides_no_conflict_that_is_certain(
    found: ConflictReport, verdict: str
) -> None:
    assert found.verdict == found.to_json()["verdict"] == verdict


def test_the_first_sentence_says_how_many_and_what_to_do() -> None:
    found = report(
        met(2, within_skew=True),
        met(1, equal=True),
        met(4, certainty="possible", kind="delete_write"),
        met(3, kind="partition_differs", certainty="ordered"),
        expired=5,
        late=1,
    )
    said = found.sentence
    assert said.startswith(
        "3 certain conflicts and 4 possible ones between east, west in 100 new records; of 1 both values are equal, of "
        "2 the clocks alone may decide who wins; 3 keys are in different partitions on two sites; what met 6 offsets "
        "is not known (5 expired before they were read, 1 with times before the last audit)."
    )
    assert "write each key on one site" in said
    assert report().sentence == "0 certain conflicts and 0 possible ones between east, west in 100 new records."


def test_records_without_a_key_hide_nothing() -> None:
    assert report(without_key=7).verdict == "ok"


def test_records_that_are_wrong_by_themselves_are_findings_also_where_nothing_met() -> None:
    found = (StrayCount("baskets", "east", "not_owner", 2), StrayCount("baskets", "west", "not_owner", 1))
    stray = replace(report(met(1, certainty="possible")), strays=(*found, StrayCount("baskets", "east", "no_owner", 4)))
    assert (stray.verdict, stray.to_json()["stray_records"], stray.number("certain")) == ("findings", 7, 0)
    assert (
        "; 7 findings about single records (4 owned by no declared member, 3 written by another member than its owner)."
    ) in stray.sentence
    assert "correct which clients write there" in stray.sentence
    assert [row["count"] for row in stray.to_json()["stray_counts"]] == [2, 1, 4]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "east baskets-1 offset 7, key k: written by another member than its owner (west)"),
        (
            {"kind": "no_owner", "seen": None, "key": None},
            "east baskets-1 offset 7, key null: owned by no declared member",
        ),
    ],
)
def test_a_record_that_is_wrong_by_itself_is_named_in_words(changed: dict[str, Any], said: str) -> None:
    row: dict[str, Any] = {"earlier_origin": None, "kind": "not_owner", "certainty": "certain", "topic": "baskets"}
    row |= {"key": "k", "later_origin": "east", "later_partition": 1, "later_offset": 7, "seen": "west"}
    assert in_words(row | changed) == said
    shown = replace(report(), shown_strays=(row | changed,)).to_json()
    assert shown["findings"] == [{"level": "failed", "sentence": said}]
    assert (shown["conflicts"], shown["strays"]) == ([], [row | changed])
