"""Audits of several standbys, one in each run: the newest of each is kept, and the worst of all is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.watch_results import STANDBYS, KeptResult, WatchName, WatchOutcome
from support.kept_metrics import NOON, kept

MINUTE = timedelta(minutes=1)
AUDITS: tuple[WatchName, ...] = ("lag", "checksum")


def audit(
    watch: WatchName, standby: str, minutes: int, outcome: WatchOutcome = "ok", source: str = "east", **facts: Any
) -> KeptResult:
    found = kept("orders", watch, outcome=outcome, looked_at=NOON + minutes * MINUTE, sentences=(f"of {standby}",))
    return replace(found, facts={**found.facts, **facts, "flow": f"{source}-to-{standby}"})


def outcomes(found: KeptResult) -> dict[str, tuple[str, int]]:
    """Return what is kept of each standby, and how many minutes after noon it was found."""
    return {each.standby: (each.outcome, (each.at - NOON) // MINUTE) for each in found.of_standbys}


@pytest.mark.parametrize("watch", AUDITS)
def test_a_good_audit_of_one_standby_does_not_hide_the_bad_one_of_another(watch: WatchName) -> None:
    bad = audit(watch, "north", 0, "failed", verdict="findings").after(None)
    found = audit(watch, "west", 5).after(bad)
    assert (found.outcome, found.facts["verdict"], found.since) == ("failed", "findings", bad.looked_at)
    assert found.sentences == ("east → north: of north", "east → west: of west")
    assert outcomes(found) == {"north": ("failed", 0), "west": ("ok", 5)}
    again = audit(watch, "north", 10).after(KeptResult.from_json(found.to_json()))
    assert again.outcome == "ok"
    assert outcomes(again) == {"north": ("ok", 10), "west": ("ok", 5)}


def test_of_audits_that_are_as_good_the_one_with_the_larger_loss_is_the_groups() -> None:
    first = audit("checksum", "north", 0, verified_rpo_seconds=9.0).after(None)
    found = audit("checksum", "west", 5, verified_rpo_seconds=1.0).after(first)
    assert found.facts["verified_rpo_seconds"] == 9.0


def test_an_audit_that_did_not_end_hides_no_other() -> None:
    both = audit("checksum", "west", 5).after(audit("checksum", "north", 0, "failed").after(None))
    unknown = kept("orders", "checksum", outcome="unknown", sentences=("no report",), facts={})
    found = replace(unknown, looked_at=NOON + 9 * MINUTE).after(both)
    assert (found.outcome, found.sentences[0]) == ("failed", "no report")
    assert outcomes(found) == outcomes(both)


def test_after_a_move_nothing_is_kept_of_flows_from_the_old_cluster() -> None:
    both = audit("lag", "west", 5).after(audit("lag", "north", 0, "failed").after(None))
    found = audit("lag", "east", 9, source="west").after(both)
    assert (found.outcome, outcomes(found)) == ("ok", {"east": ("ok", 9)})
    assert STANDBYS not in found.facts


def test_a_pair_keeps_what_it_kept() -> None:
    found = audit("lag", "west", 5).after(audit("lag", "west", 0, "failed").after(None))
    assert (found.outcome, STANDBYS in found.facts) == ("ok", False)
    unknown = kept("orders", "lag", outcome="unknown", facts={}).after(found)
    assert (unknown.outcome, unknown.of_standbys) == ("unknown", ())


def test_a_damaged_row_says_nothing() -> None:
    rows = [{"standby": "west", "outcome": "fine"}, 5, {"standby": "east", "outcome": "ok", "looked_at": 3}]
    assert kept("orders", "flows", facts={STANDBYS: rows}).of_standbys == ()
    assert kept("orders", "flows", facts={STANDBYS: {"west": 1}}).of_standbys == ()
