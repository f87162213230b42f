"""The card of a group says what a disaster would have lost, by what was compared; what is old is unknown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.evidence.rpo_line import rpo_line
from kafka_dr.evidence.status_colour import CardLine
from kafka_dr.watch_results import KeptResult, WatchOutcome
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import FACTS, NOON


def line(*, outcome: WatchOutcome = "ok", age: timedelta = timedelta(0), **facts: Any) -> CardLine:
    """Return the line of a group whose checksum audit has kept this."""
    kept = KeptResult("orders", "checksum", outcome, ("it said so",), NOON - age, facts={**FACTS["checksum"], **facts})
    return rpo_line(watched_group("orders", {"checksum": kept}, NOON).of("checksum"), NOON)


def test_it_says_how_much_when_it_was_compared_and_what_was_not() -> None:
    said = "as compared record by record 5 min ago; 12 offsets were not compared yet"
    assert line() == CardLine("2.0 s", "good", said)
    assert line(unverified_offsets=0).said == "as compared record by record 5 min ago"


def test_an_audit_that_failed_is_shown_as_bad() -> None:
    assert line(outcome="failed").colour == "bad"


@pytest.mark.parametrize("outcome", ["unknown", "left_alone"])
def test_an_audit_that_does_not_know_leaves_it_unknown_and_says_what_it_was(outcome: WatchOutcome) -> None:
    assert (line(outcome=outcome).word, line(outcome=outcome).colour) == ("UNKNOWN", "unknown")
    assert line(outcome=outcome).said.startswith("it was 2.0 s, as compared")


def test_an_old_audit_leaves_it_unknown() -> None:
    assert line(age=timedelta(hours=3)).word == "UNKNOWN"


@pytest.mark.parametrize("stored", [None, "2", True, [2.0]])
def test_what_was_not_measured_is_unknown(stored: Any) -> None:
    assert line(verified_rpo_seconds=stored).said == "the last checksum audit has not measured it"


@pytest.mark.parametrize("stored", [None, "soon", 5])
def test_a_time_that_cannot_be_read_leaves_it_unknown(stored: Any) -> None:
    assert line(at=stored).said == "the last checksum audit does not say when it compared"


def test_without_an_audit_nothing_was_compared() -> None:
    found = rpo_line(watched_group("orders", {}, NOON).of("checksum"), NOON)
    assert (found.word, found.said.startswith("nothing was compared: dr_checksum_audit has not")) == ("UNKNOWN", True)
