"""Every page by Tab, Enter and Space alone: what a mouse can use is reached, seen to have the focus, and used."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.watch_results import WATCHES
from support.browser import Page
from support.kept_situations import RUN, keep_situation
from support.served_pages import opened
from support.situation_cases import CASES, MOST_KINDS

#: The numbers of what a person can click, or write into, among all elements of the page.
USED = """(() => {
  const all = [...document.querySelectorAll("*")];
  return all.flatMap((each, number) => each.matches(
    "a[href], button:enabled, summary, input:enabled, select:enabled, textarea:enabled") && each.checkVisibility()
    ? [number] : []);
})()"""
ACT = "document.querySelector('.headline a.act')"
SAID = "document.getElementById('said').innerText"


def tabbed_to(page: Page, element: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(200):
        page.press("Tab")
        if page.ask(f"document.activeElement === {element}"):
            return
    raise AssertionError(f"Tab never reaches {element}")


def out_of_reach(page: Page) -> dict[str, list[str]]:
    """Return what no keyboard reaches on the page that is open, and where the focus is not seen."""
    stops = page.walk()
    missing = sorted(set(page.ask(USED)) - {stop.number for stop in stops})
    found = {
        "out of reach": page.ask(f"{missing}.map(n => [...document.querySelectorAll('*')][n].outerHTML)"),
        "not seen": [stop.name for stop in stops if not stop.shown],
    }
    return {what: each for what, each in found.items() if each}


@pytest.mark.parametrize(
    "name", [name if name in MOST_KINDS else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_each_page_of_a_situation_is_used_by_keyboard(root: Path, base: str, page: Page, name: str) -> None:
    keep_situation(root, name, datetime.now(UTC))
    page.resize(1200, 1000)
    found = {}
    for address in ("status?reload=false", "groups/orders", f"evidence/orders/{RUN}?reload=false"):
        for how in ("folded", "unfolded"):
            opened(page, f"{base}/kafka-dr/{address}")
            if how == "unfolded":
                page.unfold()
            found[f"{address}, {how}"] = out_of_reach(page)
    assert {address: low for address, low in found.items() if low} == {}
    opened(page, f"{base}/kafka-dr/status?reload=false")
    if not page.ask(f"Boolean({ACT})"):
        return
    leads = page.ask(f"{ACT}.href")
    tabbed_to(page, ACT)
    page.ask("window.before = true")
    page.press("Enter")
    page.wait("!window.before && document.readyState === 'complete' && document.querySelector('main')")
    assert page.ask("location.href") == leads


def test_forms_and_results_are_used_by_keyboard(root: Path, base: str, page: Page) -> None:
    keep_situation(root, "diverged", datetime.now(UTC))
    page.resize(1200, 1000)
    found = {}
    for address in [f"results/orders/{each}" for each in WATCHES] + [f"start/{dag_id}/orders" for dag_id in FORMS]:
        opened(page, f"{base}/kafka-dr/{address}")
        page.unfold()
        found[address] = out_of_reach(page)
    assert {address: low for address, low in found.items() if low} == {}


@pytest.mark.parametrize("key", ["Enter", " "])
def test_what_is_folded_is_opened_and_closed_by_keyboard(root: Path, base: str, page: Page, key: str) -> None:
    keep_situation(root, "active_silent", datetime.now(UTC))
    opened(page, f"{base}/kafka-dr/status?reload=false")
    group = "document.querySelector('details.group > summary')"
    tabbed_to(page, group)
    for is_open in (True, False):
        page.press(key)
        page.wait(f"{group}.parentElement.open === {json.dumps(is_open)}")
    assert page.ask(f"document.activeElement === {group}")


def test_a_form_is_filled_in_and_sent_by_keyboard(root: Path, base: str, page: Page) -> None:
    keep_situation(root, "well", datetime.now(UTC))
    opened(page, f"{base}/kafka-dr/start/dr_planned_failover/orders")
    dry, reason = (f"document.querySelector('[name={name}]')" for name in ("dry_run", "reason"))
    tabbed_to(page, dry)
    page.press(" ")
    assert page.ask(f"{dry}.checked")
    tabbed_to(page, reason)
    page.call("Input.insertText", text="patching")
    assert page.ask(f"{reason}.value") == "patching"
    tabbed_to(page, "document.querySelector('button[type=submit]')")
    page.press("Enter")
    # It is sent to Airflow's own API, which is not here.
    page.wait(f"{SAID}.startsWith('Nothing was started.')")
    assert page.ask("document.activeElement.innerText") == "Start", "a keyboard continues where it was"
