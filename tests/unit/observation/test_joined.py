"""What audits have settled and what a look finds after that are one answer: never a smaller loss than either has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.settled import SettledFlow, SettledPartition, read_settled
from kafka_dr.observation import FlowObservation
from kafka_dr.observation.audited import JoinedPartition, settled_in
from kafka_dr.positions import TopicPartition
from support.seen_logs import PARTITION, compared, log, seen

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def settled(source: int, target: int, **found: int) -> SettledPartition:
    return SettledPartition((source, target), found, Coverage(produced=source, verified=source))


def test_what_is_older_than_what_was_read_is_known_from_the_audits() -> None:
    # Of a hundred records the newest ten were read; the audits have settled ninety-five, and found three lost before.
    source = log((seen(90 + n, 90 + n) for n in range(10)), read_from=90)
    target = log((seen(87 + n, 90 + n) for n in range(8)), read_from=87)
    look = compared(source, target, late_before=0)
    assert not look.source.whole

    joined = JoinedPartition(look, settled(95, 92, LOST=3, REPLAY=4, MOVED=1, CORRUPT_KEY=2, UNVERIFIABLE=1))
    assert joined.whole
    assert joined.counts == {
        "lost": 3,
        "duplicated": 4,
        "moved": 1,
        "corrupted": 2,
        "unexplained": 1,
        "in_flight": 2,
    }


def test_a_gap_between_what_the_audits_settled_and_what_was_read_stays_unknown() -> None:
    source = log((seen(90 + n, 90 + n) for n in range(10)), read_from=90)
    look = compared(source, source)
    assert not JoinedPartition(look, settled(89, 90)).whole
    assert JoinedPartition(look, settled(90, 90)).whole
    assert not JoinedPartition(look, settled(90, 89)).whole
    assert not JoinedPartition(None, settled(90, 90)).whole


def test_what_a_look_finds_after_the_audits_is_added_and_what_it_finds_before_is_not_counted_twice() -> None:
    # 3 and 4 are lost, 7 is changed, 10 to 12 come twice; the audits ended after 8.
    target: list[int | str] = [0, 1, 2, 5, 6, "changed", 8, 9, 10, 11, 12, 10, 11, 12, 13]
    copied = log(
        seen(n, each, time=7_000 if each == "changed" else None, key="k7" if each == "changed" else None)
        for n, each in enumerate(target)
    )
    source = log(seen(n, n, key="k7" if n == 7 else None) for n in range(14))
    look = compared(source, copied)
    assert look.counts == {"lost": 2, "corrupted": 1, "duplicated": 3}
    joined = JoinedPartition(look, settled(8, 6, LOST=2, CORRUPT_VALUE=1)).counts
    assert joined == {"lost": 2, "corrupted": 1, "duplicated": 3}
    # Whoever knows of a larger loss is believed.
    assert JoinedPartition(look, settled(8, 6)).counts["lost"] == 2
    assert JoinedPartition(look, settled(8, 6, LOST=5)).counts["lost"] == 5


@given(st.sets(st.integers(0, 29)), st.integers(0, 30), st.integers(0, 20))
def test_a_loss_is_never_smaller_than_the_look_or_the_audits_know(missing: set[int], until: int, reads: int) -> None:
    copied = [n for n in range(30) if n not in missing]
    # What follows the last copy may still come, so no audit settles it.
    until = min(until, copied[-1] + 1 if copied else 0)
    source = log((seen(n, n) for n in range(reads, 30)), read_from=reads)
    begin = next((index for index, n in enumerate(copied) if n >= reads), len(copied))
    target = log((seen(index, copied[index]) for index in range(begin, len(copied))), read_from=begin, end=len(copied))
    whole = (until, sum(n < until for n in copied))
    look = compared(source, target, late_before=0, settled=whole)
    known = sum(n < until for n in missing)
    joined = JoinedPartition(look, settled(*whole, LOST=known)).counts
    own = look.counts
    lost = sum(joined[kind] for kind in ("lost", "late", "in_flight"))
    assert lost >= max(known, own["lost"] + own["late"] + own["in_flight"])
    if reads <= until:
        assert (lost, joined["not_read"], joined["foreign"]) == (len(missing), 0, 0)


def test_what_was_settled_of_other_clusters_or_topics_says_nothing() -> None:
    found = SettledFlow(("E", "W"), AT, {"orders": ("a", "b")}, {PARTITION: settled(5, 5)})
    assert settled_in(found, ("E", "W"), {"orders": ("a", "b")}) == found.partitions
    assert settled_in(found, ("E", "W"), {"orders": ("a", "c")}) == {}
    assert settled_in(found, ("E", "X"), {"orders": ("a", "b")}) == {}
    assert settled_in(None, ("E", "W"), {}) == {}


def test_the_sentence_says_what_it_covers() -> None:
    source = log((seen(90 + n, 90 + n) for n in range(10)), read_from=90)
    look = compared(source, source)
    other = TopicPartition("orders", 1)
    found = FlowObservation(
        "theirs",
        AT,
        ("east", "west"),
        ("E", "W"),
        {PARTITION: look},
        {other: "not reached"},
        (),
        (),
        (),
        (),
        {PARTITION: settled(95, 95, LOST=2), other: settled(40, 40, LOST=1)},
        AT,
    )
    assert found.verdict == "failed"
    assert "you would lose at least 3 records" in found.sentence
    assert found.sentence.endswith(
        "This covers what the checksum audit of 2026-03-01 12:30 UTC compared; it verified 135 records."
    )
    report = found.to_json()
    (row,) = report["partitions"]
    assert (row["verdict"], row["lost"], row["audited_until"], row["offsets_not_read"]) == ("failed", 2, 95, 0)
    assert report["partitions_left_out"][0]["audited_until"] == 40
    assert report["totals"]["lost"] == 3


def test_the_state_of_the_audits_is_read_as_it_is_written(tmp_path: Path) -> None:
    """By the program that Spark's driver runs: tests/integration/audit shows the same on real clusters."""
    from jobs.checksum.state import AuditState, PartitionState, Scan, StateStore

    state = AuditState(
        ("E", "W", 0),
        {"orders": ("a", "b")},
        {PARTITION: PartitionState((5, 6), coverage=Coverage(5, 4, 1), open={"LOST": 1})},
        (Scan("20260301T123000Z-a", AT, {}),),
    )
    folder = tmp_path / "audits" / "theirs" / "checksum" / "east-to-west"
    StateStore(folder).write(state)
    found = read_settled(tmp_path, "theirs", "east-to-west")
    assert found == SettledFlow(
        ("E", "W"), AT, {"orders": ("a", "b")}, {PARTITION: SettledPartition((5, 6), {"LOST": 1}, Coverage(5, 4, 1))}
    )
    assert read_settled(tmp_path, "others", "east-to-west") is None
    (folder / "state.json").write_text(json.dumps({"schema_version": 1, "identity": ["E"]}))
    from kafka_dr.json_documents import DocumentDamaged

    with pytest.raises(DocumentDamaged):
        read_settled(tmp_path, "theirs", "east-to-west")
