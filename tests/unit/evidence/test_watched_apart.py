"""What is no protection group has a section of its own on the status page, with what was found of it."""

from __future__ import annotations

from typing import get_args

from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.status_view import StatusView, build_status_view
from kafka_dr.topology.model import ApartWatch, Topology
from kafka_dr.watch_results import ALL_WATCHES, KeptResult, WatchedGroup, WatchOutcome
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON
from support.page_links import LINKS
from support.situation_cases import results
from support.visible_text import visible_words


def conflicts(outcome: WatchOutcome) -> WatchedGroup:
    kept = KeptResult("shop", "conflicts", outcome, ("3 conflicts are certain",), NOON, run="scheduled__1")
    return watched_group("shop", {"conflicts": kept}, NOON, ("conflicts",))


def page(*groups: WatchedGroup, outcome: WatchOutcome = "failed") -> StatusView:
    return build_status_view(groups, NOON, LINKS, {}, apart={"observed": {}, "conflicts": {"shop": conflicts(outcome)}})


def test_conflicts_of_a_block_are_shown_with_their_first_sentence() -> None:
    whole = render_status(page(watched_group("orders", results(), NOON)))
    read = " ".join(visible_words(whole))
    assert "Conflicts between members: 1" in read
    assert "3 conflicts are certain" in whole, "folded, because a group comes first"
    assert "observed alone" not in read, "there is none"


def test_without_a_protection_group_the_worst_of_them_is_the_first_line() -> None:
    assert "1 block with conflict audits, and no protection group" in page().verdict
    assert (page().colour, page(outcome="ok").colour) == ("bad", "good")


def test_each_kind_of_the_topology_has_a_section_and_each_watch_is_known() -> None:
    declared = Topology.model_validate({"evidence": {"root": "/srv/evidence"}})
    apart = {kind: {"some": conflicts("ok")} for kind in declared.watched_apart}
    assert len(build_status_view((), NOON, LINKS, {}, apart=apart).apart) == len(apart)
    assert set(get_args(ApartWatch)) <= set(ALL_WATCHES)
