"""A person on call reads a page in seconds: its visible words are counted, with 3 and with 100 groups."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.evidence import OpenedRuns, StatusLinks, StatusView, build_status_view, render_status
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON
from support.situation_cases import CASES, NOT_FOR_PEOPLE, results
from support.visible_text import visible_words

NOW = NOON + timedelta(seconds=40)
QUIET, INCIDENT = 150, 120
LINKS = StatusLinks(
    "/",
    dag=lambda dag_id: f"/dags/{dag_id}",
    dag_run=lambda dag_id, run: f"/dags/{dag_id}/runs/{run}",
    evidence=lambda group, run: f"/evidence/{group}/{run}",
    group=lambda group: f"/groups/{group}",
    result=lambda group, watch: f"/results/{group}/{watch}",
    question=lambda dag_id, run: f"/dags/{dag_id}/runs/{run}/required_actions",
    start=lambda dag_id, group: f"/start/{dag_id}/{group}",
)


def status(name: str, groups: int, *, everywhere: bool = False) -> StatusView:
    """Return the status page of many groups: the first is in a situation, or all of them are."""
    case: dict[str, Any] = dict(CASES[name])
    running, asked, endings = (case.pop(each, ()) for each in ("running", "asked", "endings"))
    names = ["orders", *(f"group-{number:03}" for number in range(1, groups))]
    watched = [watched_group(each, results(**(case if everywhere or each == "orders" else {})), NOW) for each in names]
    opened = OpenedRuns(tuple((each, ()) for each in asked), running=tuple((each, ()) for each in running))
    return build_status_view(watched, NOW, LINKS, {"orders": endings}, opened)


@pytest.mark.parametrize("groups", [3, 100])
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_status_page_is_read_in_seconds(name: str, groups: int, everywhere: bool) -> None:
    page = status(name, groups, everywhere=everywhere)
    words = visible_words(render_status(page, reloads=False))
    text = " ".join(words)
    assert len(words) <= (QUIET if page.colour == "good" else INCIDENT), text
    assert not NOT_FOR_PEOPLE.search(text), text
    assert page.first.said in text
    assert text.index(page.first.sentence) < text.index("→")


def test_a_group_that_needs_somebody_is_never_folded_away_by_groups_that_are_well() -> None:
    text = " ".join(visible_words(render_status(status("diverged", 100))))
    assert "orders" in text
    assert "97 more groups: all well" in text
    assert "97 not well" in " ".join(visible_words(render_status(status("diverged", 100, everywhere=True))))


def test_the_headline_names_the_groups_that_share_a_situation() -> None:
    assert status("active_silent", 100, everywhere=True).first.about == "group-001, group-002 and 98 more"
    assert status("active_silent", 100).first.about == "orders"
    assert status("well", 100).first.said == "every group is well"


def test_words_that_are_folded_or_for_a_screen_reader_are_not_counted() -> None:
    page = (
        "<head><title>t</title></head><p>a <b>b</b></p><details><summary>c</summary>no <p>no</p><details>"
        "<summary>no</summary></details></details><details open><summary>d</summary><p>e</p></details>"
        '<span class="unseen">no</span><br>f'
    )
    assert visible_words(page) == ["a", "b", "c", "d", "e", "f"]
