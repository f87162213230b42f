"""The pages in a real Chromium, without an Airflow: each situation, from files below an evidence root."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.watch_results import WATCHES
from kafka_dr_airflow.topology_file import read_topology
from lab import topology_file
from lab.api import Lab
from support.browser import PLAIN, Page
from support.kept_situations import OF_THREE, RUN, keep_situation, topology_of
from support.served_pages import opened
from support.situation_cases import CASES, NOT_FOR_PEOPLE, USUAL

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

GOAL_SECONDS = 0.3
_COPY = "document.querySelector('button[data-copy]')"


@pytest.mark.parametrize("secure", [True, False])
def test_the_id_of_a_run_is_copied_by_keyboard_also_over_plain_http(
    root: Path, base: str, page: Page, secure: bool
) -> None:
    keep_situation(root, "run_moving", datetime.now(UTC))
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    opened(page, f"{base}/kafka-dr/status?reload=false")
    page.ask("navigator.clipboard.writeText('something else')")
    text = opened(page, f"{base if secure else base.replace('127.0.0.1', PLAIN)}/kafka-dr/evidence/orders/{RUN}")
    assert "planned · alice · " in text
    assert page.ask("isSecureContext && Boolean(navigator.clipboard)") is secure
    page.ask(f"{_COPY}.focus()")
    page.press("Enter")
    page.wait(f"{_COPY}.innerText === 'copied'")
    assert page.ask(f"document.activeElement === {_COPY}"), "a keyboard continues where it was"
    opened(page, f"{base}/kafka-dr/status?reload=false")
    assert page.ask("navigator.clipboard.readText()") == RUN


def test_where_nothing_can_be_copied_the_id_is_selected(root: Path, base: str, page: Page) -> None:
    keep_situation(root, "run_moving", datetime.now(UTC))
    opened(page, f"{base.replace('127.0.0.1', PLAIN)}/kafka-dr/evidence/orders/{RUN}")
    page.ask("document.execCommand = () => false")
    page.click(_COPY)
    page.wait(f"{_COPY}.innerText === 'press Ctrl+C'")
    chosen = (
        "document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)"
    )
    assert page.ask(chosen) == RUN


@pytest.fixture
def hundred(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Declare a hundred groups, and return their names."""
    names = ("orders", *(f"group-{number:03}" for number in range(1, 100)))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(topology_of(root.parent, names)))
    return names


SHOWN = """[...document.querySelectorAll('details.group')]
    .filter(each => each.checkVisibility()).map(each => each.dataset.name)"""
SAID = "document.getElementById('filtered').innerText"


def test_groups_are_filtered_by_typing_and_no_reload_forgets_it(
    root: Path, base: str, page: Page, hundred: tuple[str, ...]
) -> None:
    keep_situation(root, "active_silent", datetime.now(UTC), hundred)
    opened(page, f"{base}/kafka-dr/status")
    assert page.ask(SHOWN) == ["orders", "group-001", "group-002"]
    assert page.ask(SAID) == ""
    assert page.ask("[...document.querySelectorAll('[for=filter]')].length") == 1
    while page.ask("document.activeElement.id") != "filter":
        page.press("Tab")
    for reload in (False, True):
        if reload:
            opened(page, f"{base}/kafka-dr/status")
        else:
            page.call("Input.insertText", text="Group-05")
        assert page.ask(SHOWN) == [f"group-05{number}" for number in range(10)], reload
        assert page.ask(SAID) == "90 of 100 groups are hidden: orders not well", "none is hidden without a word"
        assert page.ask("document.activeElement.id") == "filter", reload
    page.call("Input.insertText", text="7")
    assert page.ask(SHOWN) == ["group-057"]
    page.press("Escape")
    assert page.ask(SHOWN) == ["orders", "group-001", "group-002"]
    page.call("Input.insertText", text="no answer")
    assert page.ask(SHOWN) == ["orders"], "by its state as well"
    assert page.ask(SAID) == "99 of 100 groups are hidden: all well"
    page.press("Escape")


def test_the_status_page_of_a_hundred_groups_is_there_before_a_person_waits(
    root: Path, pages: TestClient, hundred: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """How long it takes is printed and not asserted: the machine may be busy."""
    keep_situation(root, "active_silent", datetime.now(UTC), hundred)
    assert pages.get("/status").text.count('<details class="group"') == 100
    took = []
    for _ in range(5):
        began = time.perf_counter()
        pages.get("/status")
        took.append(time.perf_counter() - began)
    with capsys.disabled():
        sys.stdout.write(
            f"\nstatus page, 100 groups: {min(took) * 1000:.0f} ms, {min(took) / GOAL_SECONDS:.2f} of 300\n"
        )


def test_a_topology_that_was_changed_is_read_again(root: Path, hundred: tuple[str, ...]) -> None:
    assert len(read_topology(os.environ).protection_groups) == 100
    assert read_topology(os.environ) is read_topology(os.environ), "a page of a hundred groups reads it twice"
    assert read_topology({**os.environ, "KAFKA_DR_LAB_HOME": "/other"}).evidence.root == "/other/evidence"
    topology_of(root.parent, hundred[:7])
    assert len(read_topology(os.environ).protection_groups) == 7
    Path(os.environ["KAFKA_DR_TOPOLOGY"]).unlink()
    with pytest.raises(TopologyError, match="cannot be read"):
        read_topology(os.environ)


@pytest.mark.parametrize("name", CASES)
def test_no_page_says_the_id_of_a_run(root: Path, pages: TestClient, name: str) -> None:
    """Not in a fold either; code and stored values have it."""
    keep_situation(root, name, datetime.now(UTC))
    audit = root / "audits" / "orders" / "lag" / "east-to-west" / RUN
    stranded = root / "stranded" / "orders" / RUN
    for folder, file in ((audit, "report.json"), (stranded, "summary.json")):
        folder.mkdir(parents=True)
        (folder / file).write_text(json.dumps({"group": "orders", "run": RUN, "sentence": f"after {RUN}"}))
    addresses = ["status", "groups/orders", f"evidence/orders/{RUN}", f"evidence/orders/{RUN}-2"]
    addresses += [f"results/orders/{watch}" for watch in WATCHES] + [f"start/{dag_id}/orders" for dag_id in FORMS]
    addresses += [f"audits/orders/lag/east-to-west/{RUN}", f"stranded/orders/{RUN}"]
    for address in addresses:
        answer = pages.get(f"/{address}", headers={"Accept": "text/html"})
        assert answer.status_code == (404 if address.endswith("-2") else 200), address
        said = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>|<[^>]*>", " ", answer.text)
        assert "manual__" not in said, (address, said[max(0, said.index("manual__") - 200) :][:400])


#: Situations that are about no cluster, or whose beginning nobody knows.
NO_CLUSTER = {"approval_waits", "run_slow", "run_moving", "just_ended", "checks_late", "nothing_known", "mistake"}
NO_CLUSTER |= {"drill_running", "drill_died", "drill_overdue", "stopped", "canary_lost", "not_adopted", "check_red"}
NO_CLUSTER |= {"not_proven", "well"}
NO_TIME = {"drill_running", "drill_died", "drill_overdue", "stopped", "not_adopted", "no_disaster_recovery"}
NO_TIME |= {"no_planned_failover", "nothing_known", "take_over_unknown", "noted", "well"}
NO_ACTION = {"well"}
#: What is open to a click and a click would not meet, of everything that a person can click.
COVERED = """[...document.querySelectorAll('a[href], button, summary, input, select, textarea')]
    .filter(each => each.checkVisibility() && !each.closest('.skip')).filter(each => {
        each.scrollIntoView({block: 'center', behavior: 'instant'});
        const box = each.getClientRects()[0];
        const met = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return !each.contains(met);
    }).map(each => each.outerHTML)"""
#: Every link and button of a page that can be seen.
WAYS = """[...document.querySelectorAll('a[href], button')]
    .filter(each => each.checkVisibility() && !each.closest('.skip'))"""
#: What each is for, and where a link leads.
NAMED = "each => [each.href || `${document.title}: ${each.innerText}`, each.href || '']"
#: A button has said something, or shown which field is not filled in.
SAID_SO = "document.body.innerText !== {} || document.activeElement.matches(':invalid')"
STATUS = "performance.getEntriesByType('navigation')[0].responseStatus"
#: The situations whose pages have most kinds of links and buttons; with ``--long`` those of all are clicked.
CLICKED_THROUGH = {"well", "approval_waits", "stopped_before_hand_over"}
#: What was clicked: whatever the situation is, the same runs and results are kept.
CLICKED: set[str] = set()
#: The standbys in the picture of a group that has several.
STANDBYS = "[...document.querySelectorAll('.fan li b')].map(each => each.parentElement.innerText)"
WIDTH = "document.documentElement.scrollWidth"
TIME = re.compile(r"\d\d:\d\d UTC|\bfor [\d.]+ s|[\d.]+ s, usually")


@pytest.fixture
def three(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Declare three groups, and return their names."""
    names = ("orders", "invoices", "stock")
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(topology_of(root.parent, names)))
    return names


def dead_ends(page: Page, address: str) -> list[str]:
    """Click each button of a page and one link of each kind, and return those that lead to no page or do nothing.

    Other links of a kind that was clicked are followed without a browser. What was clicked or followed before, and
    other groups, are left out.
    """
    opened(page, address)
    page.unfold()
    found: list[str] = []
    for number, (what, href) in enumerate(page.ask(f"{WAYS}.map({NAMED})")):
        if what in CLICKED or re.search("invoices|stock", what):
            continue
        CLICKED.add(what)
        kind, (there, _, part) = kind_of(href), href.partition("#")
        if href and there != address and kind in CLICKED:
            answer = httpx.get(there)
            if answer.status_code != 200 or "<main" not in answer.text:
                found.append(f"{what}: {answer.status_code}: {answer.text[:200]}")
            continue
        CLICKED.add(kind)
        opened(page, address)
        page.unfold()
        before = page.text()
        page.ask("window.before = true")
        page.click(f"{WAYS}[{number}]")
        if not href:
            page.wait(SAID_SO.format(json.dumps(before)))
        elif there == address:
            page.wait(f"location.href === {json.dumps(href)}")
            page.wait(f"!{json.dumps(part)} || document.getElementById(decodeURIComponent({json.dumps(part)}))")
        else:
            page.wait("!window.before && document.readyState === 'complete' && document.querySelector('main')")
            if (page.ask("location.href"), page.ask(STATUS)) != (href, 200):
                found.append(f"{what}: {page.ask('location.href')}: {page.text()[:200]}")
    return found


def kind_of(href: str) -> str:
    """Return the beginning of the path that links have in common which lead to the same page about something else."""
    return "kind: " + "/".join(urlsplit(href).path.split("/")[:3])


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_a_situation_is_read_in_seconds_and_every_way_out_of_its_page_leads_somewhere(
    root: Path, base: str, page: Page, three: tuple[str, ...], name: str, request: pytest.FixtureRequest
) -> None:
    keep_situation(root, name, datetime.now(UTC), three)
    first = read_in_seconds(page, base, quiet=name == "well")
    assert name == "well" or "orders: " in first
    assert (name in NO_CLUSTER) or re.search("east|west", first), first
    assert (name in NO_TIME) or TIME.search(first), first
    has_action = page.ask("Boolean(document.querySelector('.headline a.act'))")
    assert (name in NO_ACTION) or has_action or re.search(r"Wait |looks until", first), first
    page.unfold()
    assert page.ask(COVERED) == []
    if name in CLICKED_THROUGH or request.config.getoption("--long"):
        lead_somewhere(page, base)


def read_in_seconds(page: Page, base: str, *, quiet: bool) -> str:
    """Open the status page on a telephone, count its words, and return what its first lines say."""
    page.resize(390, 844)
    opened(page, f"{base}/kafka-dr/status?reload=false")
    assert page.ask(WIDTH) <= 390
    page.ask("document.querySelectorAll('.skip, .unseen').forEach(each => { each.style.display = 'none' })")
    text = page.text()
    assert len(text.split()) <= (150 if quiet else 120), text
    assert not NOT_FOR_PEOPLE.search(text), text
    return str(page.ask("document.querySelector('.headline').innerText"))


def lead_somewhere(page: Page, base: str) -> None:
    """Click everything on the status page, which is open, and on the page of the group."""
    page.unfold()
    assert page.ask(WIDTH) <= 390
    assert page.ask(COVERED) == []
    dead = dead_ends(page, f"{base}/kafka-dr/status?reload=false")
    opened(page, f"{base}/kafka-dr/groups/orders")
    page.unfold()
    assert page.ask(WIDTH) <= 390
    assert page.ask(COVERED) == []
    assert [*dead, *dead_ends(page, f"{base}/kafka-dr/groups/orders")] == []


#: What the first lines of a real group of three say, and its standbys in their order, with their roles.
THREE = {
    "quiet": ("WELL", "", "north serves, east and west could take over", ["east copy", "west copy"]),
    "pending": ("NOT COPIED YET", "", "east waits for its flow from west", ["east pending", "north copy"]),
    "stopped": (
        "NOT COPYING",
        "The group can be moved to north.",
        "The replication to east does not keep up",
        ["east copy", "north copy"],
    ),
}


@pytest.mark.parametrize("name", OF_THREE)
def test_of_a_group_with_two_standbys_the_one_that_is_not_well_is_named_and_comes_first(
    root: Path, base: str, page: Page, name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    lab = Lab(root.parent, clusters=3, environ={})
    topology_file.write(lab.home, lab.settings)
    for variable, value in lab.environ.items():
        monkeypatch.setenv(variable, value)
    keep_situation(root, name, datetime.now(UTC))
    word, elsewhere, said, lines = THREE[name]
    first = read_in_seconds(page, base, quiet=name == "quiet")
    assert first.startswith(word), first
    assert said in first
    page.unfold()
    assert elsewhere in page.text()
    for address in ("status?reload=false", "groups/orders"):
        opened(page, f"{base}/kafka-dr/{address}")
        page.unfold()
        assert page.ask(STANDBYS) == lines
    opened(page, f"{base}/kafka-dr/start/dr_planned_failover/orders")
    offered = page.ask("[...document.querySelectorAll('[name=target] option')].map(each => each.value)")
    assert sorted(offered) == sorted(line.split()[0] for line in lines if line.endswith("copy"))
    opened(page, f"{base}/kafka-dr/status?reload=false")
    if name == "stopped" or request.config.getoption("--long"):
        lead_somewhere(page, base)


@pytest.mark.parametrize("name", ["stopped_before_hand_over", pytest.param("well", marks=pytest.mark.long)])
def test_no_page_is_wider_than_a_telephone(
    root: Path, base: str, page: Page, three: tuple[str, ...], name: str
) -> None:
    keep_situation(root, name, datetime.now(UTC), three)
    page.resize(390, 844)
    addresses = [f"evidence/orders/{RUN}", f"evidence/orders/{RUN}-2", "groups/stock"]
    addresses += [f"results/orders/{watch}" for watch in WATCHES] + [f"start/{dag_id}/orders" for dag_id in FORMS]
    for address in addresses:
        opened(page, f"{base}/kafka-dr/{address}")
        page.unfold()
        assert page.ask(WIDTH) <= 390, address
        assert page.ask(COVERED) == [], address
        assert dead_ends(page, f"{base}/kafka-dr/{address}") == [], address


#: What is written before each pill in the line of a group.
LABELS = """[...document.querySelectorAll('.group > summary .badge')]
    .map(each => getComputedStyle(each.parentElement, '::before').content)"""


def test_on_a_telephone_each_pill_in_the_line_of_a_group_says_what_it_is_about(
    root: Path, base: str, page: Page
) -> None:
    keep_situation(root, "nothing_known", datetime.now(UTC))
    page.resize(390, 844)
    opened(page, f"{base}/kafka-dr/status?reload=false")
    assert page.ask(LABELS) == ['"Move now? "', '"If it failed? "', '"State: "']
    page.resize(1200, 844)
    assert set(page.ask(LABELS)) == {"none"}, "the head of the columns says it"


#: What is folded, and a printer leaves out.
NOT_PRINTED = """[...document.querySelectorAll('details > :not(summary)')]
    .filter(each => !each.closest('[hidden]') && !each.checkVisibility()).map(each => each.outerHTML)"""


@pytest.mark.parametrize("address", ["status?reload=false", "groups/orders", f"evidence/orders/{RUN}"])
def test_a_printer_gets_what_is_folded_too(root: Path, base: str, page: Page, address: str) -> None:
    keep_situation(root, "active_silent", datetime.now(UTC))
    opened(page, f"{base}/kafka-dr/{address}")
    assert page.ask(NOT_PRINTED) != []
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert page.ask(NOT_PRINTED) == []
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
