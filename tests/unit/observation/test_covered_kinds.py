"""Groups that are more than their offsets are in the report as what they are, and no word or colour calls them good."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kafka_dr.clusters.group_kinds import GroupKind, ListedGroup
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_observation
from kafka_dr.observation import FlowObservation
from kafka_dr.observation.groups import GroupPosition, PositionCost, by_group
from kafka_dr.readers.covered import CoveredReader, reader_of
from support.seen_logs import PARTITION, compared, numbered

#: Nothing would be skipped or come again.
EXACT = GroupPosition("ledger", PARTITION, 3, 3, "checkpoint", 3, PositionCost(0, 0))


def reader(kind: GroupKind, said: str, group: str = "workers") -> CoveredReader:
    found = reader_of(ListedGroup(group, kind, said), target="west")
    assert found is not None
    return found


SHARE, STREAMS = reader("share", "share"), reader("streams", "streams", "ledger")
CONNECT = reader("other", "classic connect", "connect-cluster")
SINK = CoveredReader("ledger", "connect_sink", "of the connector sea", "point it at west", best="ok")


def observed(*readers: CoveredReader, positions: tuple[GroupPosition, ...] = (EXACT,)) -> FlowObservation:
    equal = {PARTITION: compared(numbered(range(10)), numbered(range(10)))}
    at, clusters = datetime(2026, 1, 1, tzinfo=UTC), ("east", "west")
    return FlowObservation("theirs", at, clusters, ("e", "w"), equal, {}, positions, (), (), (), readers=readers)


@pytest.mark.parametrize(
    ("found", "verdict", "rows"),
    [
        (observed(), "ok", {"ledger": ("consumer group", "ok", 0)}),
        (
            observed(SHARE),
            "unknown",
            {"ledger": ("consumer group", "ok", 0), "workers": ("share group", "unknown", None)},
        ),
        # Its offset is exact, and its state may be anywhere.
        (observed(STREAMS), "unknown", {"ledger": ("Kafka Streams application", "unknown", 0)}),
        (observed(STREAMS, positions=()), "unknown", {"ledger": ("Kafka Streams application", "unknown", None)}),
        (observed(SINK), "ok", {"ledger": ("sink of Connect", "ok", 0)}),
        # What it may have kept elsewhere is something to know.
        (observed(SINK, positions=()), "warning", {}),
        (observed(CONNECT), "warning", {"ledger": ("consumer group", "ok", 0)}),
    ],
    ids=["none", "share", "streams", "streams without offsets", "sink", "sink without offsets", "workers of Connect"],
)
def test_the_verdict_is_no_better_than_the_reader_allows(
    found: FlowObservation, verdict: str, rows: dict[str, tuple[str, str, int | None]]
) -> None:
    report = found.to_json()

    assert (found.verdict, report["verdict"]) == (verdict, verdict)
    assert {row["group"]: (row["kind"], row["verdict"], row["skipped"]) for row in report["groups"]} == rows
    if verdict == "unknown":
        assert "good" not in {build_observation_view(report).colour, *_colours(report, "Readers that need more")}


def test_what_a_group_would_skip_is_worse_than_what_it_is() -> None:
    wrong = GroupPosition("ledger", PARTITION, 3, 3, "checkpoint", 5, PositionCost(0, 2))
    assert [row["verdict"] for row in by_group((wrong,), (STREAMS,))] == ["failed"]
    assert observed(STREAMS, positions=(wrong,)).verdict == "failed"


def test_a_position_of_an_application_is_not_green_in_any_table() -> None:
    (row,) = observed(STREAMS).to_json()["group_positions"]
    assert (row["verdict"], row["exact_target_offset"]) == ("unknown", 3)


def test_the_sentence_names_them_and_counts_nothing_as_nothing() -> None:
    said = observed(SHARE, STREAMS).sentence

    assert "deliver at least 0 records again; no group is known to skip unread records; of workers it is not" in said
    assert "these can resume: workers (share group), ledger (Kafka Streams application)." in said
    assert "An offset alone" not in observed(SINK, CONNECT).sentence


def test_the_report_says_what_to_do_and_how_many_of_each_kind_there_are() -> None:
    report = observed(SHARE, CONNECT).to_json()

    assert report["groups_by_kind"] == {"consumer group": 1, "group of another protocol": 1, "share group": 1}
    assert [(row["group"], row["verdict"], row["shown_by"]) for row in report["readers"]] == [
        ("workers", "unknown", "share"),
        ("connect-cluster", "warning", "classic connect"),
    ]
    page = render_observation(build_observation_view(report))
    assert "Readers that need more than a moved offset, and what their owners do" in page
    assert "run its reset commands, then start them on west" in page


def test_the_names_of_readers_are_text_on_the_page() -> None:
    page = render_observation(build_observation_view(observed(reader("share", "<b>", "<script>x</script>")).to_json()))
    assert "<script" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page


def _colours(report: dict[str, object], title: str) -> set[str]:
    (table,) = (each for each in build_observation_view(report).tables if each.title.startswith(title))
    return {cell.colour for row in table.rows for cell in row if cell.colour}
