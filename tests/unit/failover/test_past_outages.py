"""The predicted outage is what earlier failovers of the group measured; without one it is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_dr.evidence.seal import EvidenceChanged
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.failover.past_outages import PastOutage, PredictedOutage, newest_failovers, outage_of

PROMISED = 5.0


def predicted(*outages: PastOutage) -> PredictedOutage:
    return PredictedOutage(outages, PROMISED)


def test_a_group_that_was_never_moved_has_no_prediction() -> None:
    found = predicted()
    assert found.sentence == "unknown: this group has never been moved, so nothing was measured"
    assert (found.to_json()["median_seconds"], found.to_json()["runs"]) == (None, 0)


def test_one_failover_says_nothing_about_the_spread() -> None:
    said = predicted(PastOutage("a", 7.3)).sentence
    assert said.startswith("7.3 s, from only one earlier failover")
    assert "1 of 1 took longer than the objective of 5 s" in said


def test_several_give_a_median_their_spread_and_how_often_the_objective_was_met() -> None:
    found = predicted(PastOutage("c", 7.3), PastOutage("b", 2.9), PastOutage("a", 4.1))
    assert found.sentence == (
        "4.1 s, the median of earlier failovers: 2.9 to 7.3 s in the newest 3 that count; "
        "1 of 3 took longer than the objective of 5 s"
    )
    kept = found.to_json()
    assert (kept["least_seconds"], kept["median_seconds"], kept["most_seconds"], kept["runs"]) == (2.9, 4.1, 7.3, 3)
    assert [row["run"] for row in kept["rests_on"]] == ["c", "b", "a"]


def test_failovers_without_load_do_not_make_the_others_look_short() -> None:
    found = predicted(PastOutage("c", 1.0, written=False), PastOutage("b", 6.0), PastOutage("a", 8.0))
    assert found.used == (6.0, 8.0)
    assert "1 failover left out, in which nobody was writing" in found.sentence


def test_if_nothing_was_ever_being_written_the_figure_is_a_lower_bound() -> None:
    found = predicted(PastOutage("b", 1.0, written=False), PastOutage("a", 2.0, written=False))
    assert found.sentence.startswith("at least 1.5 s")
    assert "Nobody was writing then" in found.sentence
    assert found.to_json()["lower_bound"] is True


def test_what_was_not_measured_or_not_sealed_is_counted_and_is_no_figure() -> None:
    assert predicted(PastOutage("a", None)).sentence == "unknown: 1 earlier failover left no sealed figure of it"
    assert "1 failover left no sealed figure" in predicted(PastOutage("b", 2.0), PastOutage("a", None)).sentence


def test_only_runs_that_opened_a_target_count_and_the_newest_come_first() -> None:
    history = {
        "old": {"opened": {"at": "2026-01-01T00:00:00+00:00"}},
        "proposals": {"newest": {"run": "x"}},
        "rolled-back": {"claim": {"at": "2026-01-05T00:00:00+00:00"}},
        "new": {"opened": {"at": "2026-01-03T00:00:00+00:00"}},
    }
    assert newest_failovers(history) == ["new", "old"]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (None, PastOutage("r", None)),
        ({"facts": "odd"}, PastOutage("r", None)),
        ({"facts": {"rto_seconds": 3.0}}, None),
        ({"facts": {"write_outage_seconds": None, "write_pause_seen_seconds": None}}, PastOutage("r", None, False)),
        ({"facts": {"write_outage_seconds": True}}, PastOutage("r", None, False)),
        ({"facts": {"write_outage_seconds": 3, "write_pause_seen_seconds": 3.0}}, PastOutage("r", 3.0)),
    ],
)
def test_a_report_is_read_whatever_it_holds(report: dict[str, object] | None, expected: PastOutage | None) -> None:
    assert outage_of("r", report) == expected


def test_only_sealed_evidence_counts(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    store.write("orders", "run", 12, "report", {"facts": {"write_outage_seconds": 9.0}})
    assert store.sealed_step("orders", "run", "report") is None
    store.write("orders", "run", 12, "report", {"facts": {"write_outage_seconds": 3.0}})
    store.seal("orders", "run")
    store.write("orders", "run", 12, "report", {"facts": {"write_outage_seconds": 0.1}})
    kept = store.sealed_step("orders", "run", "report")
    assert kept is not None
    assert kept["facts"] == {"write_outage_seconds": 3.0}
    assert store.sealed_step("orders", "run", "preflight") is None

    path = tmp_path / "runs" / "orders" / "run" / "12-report.2.json"
    path.write_text(json.dumps({"facts": {"write_outage_seconds": 0.1}}))
    with pytest.raises(EvidenceChanged, match=r"12-report\.2\.json of run run is not what was sealed"):
        store.sealed_step("orders", "run", "report")
