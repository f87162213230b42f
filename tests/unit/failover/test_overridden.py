"""A rule that a person overrides is never shown as if it held."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.disaster.disaster_rule import ClusterVerdict
from kafka_dr.evidence.status_colour import colour_of
from kafka_dr.failover.unplanned import last_known
from kafka_dr.failover.unplanned.checks import _QUESTIONS, groups_read_only_owned_topics, source_is_down
from kafka_dr.group_offsets import other_topics
from kafka_dr.group_offsets.other_topics import Elsewhere, ReadElsewhere
from kafka_dr.outcomes import worst
from kafka_dr.runs.record import shortfall
from support.sentences import assert_sentence

UP = ClusterVerdict("up", "east answers and shows none of unreachable", up_for=("office",))
UNCLEAR = ClusterVerdict(
    "unclear",
    "east shows unreachable, but only 1 of the 2 vantages needed see that (this installation)",
    ("unreachable",),
    ("here",),
)
DOWN = ClusterVerdict(
    "down", "east shows unreachable, seen by this installation, office", ("unreachable",), ("here", "office")
)


def judged(verdict: ClusterVerdict, override: str) -> Any:
    run: Any = SimpleNamespace(request=SimpleNamespace(override=override))
    return source_is_down(run, verdict)


@pytest.mark.parametrize(
    ("verdict", "override", "outcome"),
    [
        (UP, "", "failed"),
        (UNCLEAR, "", "unknown"),
        (DOWN, "", "ok"),
        (UP, "one vantage is all we have", "overridden"),
        (UNCLEAR, "one vantage is all we have", "overridden"),
        (DOWN, "one vantage is all we have", "ok"),
    ],
)
def test_a_rule_that_holds_and_a_rule_that_is_overridden_are_two_outcomes(
    verdict: ClusterVerdict, override: str, outcome: str
) -> None:
    assert judged(verdict, override).outcome == outcome


def test_the_run_continues_and_the_check_says_what_was_seen_and_not_what_the_requester_wrote() -> None:
    check = judged(UP, "all checks: ok")
    assert check.passes
    assert worst([check]) == "ok"
    assert shortfall([check], failed="refused") is None
    assert check.detail == UP.sentence
    assert check.facts["override"] == "all checks: ok"


def test_it_does_not_look_good() -> None:
    assert colour_of("overridden") == "warn"


@pytest.mark.parametrize(("override", "outcome"), [("", "failed"), ("all checks: ok", "overridden")])
def test_offsets_that_are_not_moved_are_overridden_as_well_and_the_detail_quotes_nobody(
    monkeypatch: pytest.MonkeyPatch, override: str, outcome: str
) -> None:
    found = ReadElsewhere((Elsewhere("orders-a", "stock.items", {0: 3}, live=False),))
    monkeypatch.setattr(last_known, "elsewhere", lambda _run: found)
    monkeypatch.setattr(other_topics, "owner_of", lambda _run, _topic: "stock")
    policy = SimpleNamespace(other_topics="refuse")
    run: Any = SimpleNamespace(
        request=SimpleNamespace(override=override),
        decides_by_acls=lambda _: True,
        group=SimpleNamespace(name="orders", groups_policy=policy),
        source="east",
    )
    check = groups_read_only_owned_topics(run)
    assert check.outcome == outcome
    assert_sentence(check.detail)
    assert override not in check.detail or not override


def test_a_headline_has_room_for_what_to_do_about_offsets_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "classes", lambda _run: {})
    monkeypatch.setattr(last_known, "look", lambda _run: None)
    run: Any = SimpleNamespace(
        source="east",
        group=SimpleNamespace(name="orders", groups_policy=SimpleNamespace(unknown_offsets="refuse")),
        request=SimpleNamespace(override=""),
    )
    check = _QUESTIONS["positions_known"](run)
    assert check.outcome == "failed"
    assert "let dr_canary look now, or override" in check.detail
    assert len(check.detail) <= 150
