"""The pages as a keyboard, a screen reader and a printer without colours get them. The real walk is in tests/dags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.watch_results import KeptResult, OpenRun, OpenRuns, RunEnding, RunEndings, WatchResultStore
from support.kept_metrics import keep

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

ADDRESSES = (
    "/status",
    "/status?reload=false",
    "/groups/orders",
    "/results/orders/health",
    "/start/dr_planned_failover/orders",
    "/start/dr_drill/orders",
    "/evidence/orders/run-1",
)
_FIELDS = {"input", "select", "textarea"}
_VOID = {"meta", "br", "hr", "img", "link", "input", "rect", "line", "polyline"}


@dataclass
class TaggedPage(HTMLParser):
    """A page as its tags and texts."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    #: The fields that a label is around.
    labelled: list[int] = field(default_factory=list)
    badges: list[str] = field(default_factory=list)
    headings: set[str] = field(default_factory=set)
    style: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        if any(name == "label" for name, _ in self._open):
            self.labelled.append(len(self.tags) - 1)
        if "badge" in found.get("class", "").split():
            self.badges.append("")
        if tag not in _VOID:
            self._open.append((tag, found))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "style":
            self.style += data
        if self._open and re.fullmatch("h[1-6]", self._open[-1][0]):
            self.headings.add(data.strip())
        if any("badge" in each.get("class", "").split() for _, each in self._open):
            self.badges[-1] += data.strip()

    def of(self, *names: str) -> Iterator[dict[str, str]]:
        return (found for tag, found in self.tags if tag in names)

    @property
    def ids(self) -> list[str]:
        return [found["id"] for _, found in self.tags if "id" in found]

    @property
    def reached(self) -> list[tuple[str, dict[str, str]]]:
        """What the Tab key reaches, in its order."""
        by_itself = {"button", "summary", *_FIELDS}
        return [
            (tag, found)
            for tag, found in self.tags
            if tag in by_itself or (tag == "a" and "href" in found) or found.get("tabindex") == "0"
        ]


@pytest.fixture
def served(root: Path, pages: TestClient) -> dict[str, TaggedPage]:
    """Return every page, while a run waits for a person, another has ended, and a watch was red before."""
    now, measured = datetime.now(UTC), {"write_outage_seconds": 3.2}
    was_red = KeptResult("orders", "flows", "failed", ("it stopped",), now - timedelta(hours=1), run="scheduled__0")
    WatchResultStore(root).keep_round("flows", [was_red], declared=["orders"])
    keep(root)
    moved = RunEnding("run-0", "dr_planned_failover", "MOVED to west", True, now, {}, measured, measured)
    RunEndings(root).keep("orders", moved)
    waits = OpenRun("orders", "run-1", "dr_planned_failover", "Move?", ("alice",), now, now + timedelta(hours=1))
    OpenRuns(root).ask(waits)
    step = {"schema_version": 1, "outcome": "done", "step": "preflight", "facts": {"seen": 1}}
    times = {"started_at": "2026-11-20T03:00:00.000000Z", "finished_at": "2026-11-20T03:00:01.000000Z", "seconds": 1.0}
    folder = root / "runs" / "orders" / "run-1"
    folder.mkdir(parents=True)
    (folder / "01-preflight.1.json").write_text(json.dumps({**step, **times, "checks": [], "proofs": []}))
    found = {}
    for address in ADDRESSES:
        answer = pages.get(address)
        assert answer.status_code == 200, address
        found[address] = TaggedPage()
        found[address].feed(answer.text)
    return found


def test_the_first_thing_that_the_tab_key_reaches_leads_to_the_content(
    served: dict[str, TaggedPage],
) -> None:
    for address, page in served.items():
        first, *others = page.reached
        assert first == ("a", {"class": "skip", "href": "#content"}), address
        assert len(list(page.of("main"))) == 1, address
        assert [found["tabindex"] for _, found in page.tags if found.get("id") == "content"] == ["-1"], address
        assert others, address
        assert {found.get("tabindex", "0") for _, found in page.reached} == {"0"}, address
        assert all(found.get("aria-label") for found in page.of("nav")), address


def test_headings_begin_with_one_and_leave_no_level_out(served: dict[str, TaggedPage]) -> None:
    assert {"Last runs", "Before"} <= served["/status"].headings
    for address, page in served.items():
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
        assert (levels[0], levels.count(1)) == (1, 1), address
        assert all(after <= before + 1 for before, after in pairwise(levels)), (address, levels)


def test_each_field_has_a_label_and_what_describes_it_is_there(served: dict[str, TaggedPage]) -> None:
    for address, page in served.items():
        assert len(set(page.ids)) == len(page.ids), address
        wanted = {found["for"] for found in page.of("label") if "for" in found}
        for number, (tag, found) in enumerate(page.tags):
            if tag in _FIELDS:
                assert found.get("id") in wanted or number in page.labelled, (address, found)
            for name in ("aria-describedby", "aria-labelledby"):
                assert found.get(name, page.ids[0]) in page.ids, (address, found)
    forms = [page for address, page in served.items() if "/start/" in address]
    assert any("aria-describedby" in found for page in forms for found in page.of(*_FIELDS))


def test_each_state_is_a_word_and_nothing_moves(served: dict[str, TaggedPage]) -> None:
    for address, page in served.items():
        assert all(page.badges), address
        assert re.findall("animation|transition|scroll-behavior|@keyframes", page.style) == [], address
        assert "outline: none" not in page.style.replace("#content:focus { outline: none; }", ""), address
    assert served["/status"].badges


def test_what_is_wider_than_the_page_can_be_scrolled_by_keys_and_has_a_name(served: dict[str, TaggedPage]) -> None:
    boxes = [found for found in served["/evidence/orders/run-1"].of("div") if found.get("class") == "scroll"]
    assert boxes
    assert all(found["tabindex"] == "0" and found["role"] == "region" and found["aria-label"] for found in boxes)


def test_a_page_that_loads_again_by_itself_can_be_stopped(served: dict[str, TaggedPage]) -> None:
    def again(page: TaggedPage) -> bool:
        return any(found.get("http-equiv") == "refresh" for found in page.of("meta"))

    found = [address for address, page in served.items() if again(page)]
    assert "/status" in found
    for address in found:
        ways = [page for page in served[address].reached if "style" not in page[1]]
        assert ways[1] == ("a", {"href": "?reload=false"}), "before anything else, as the focus is lost each time"
