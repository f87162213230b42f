"""The pages in a real Chromium, without an Airflow: each situation, from files below an evidence root."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.watch_results import WATCHES
from kafka_dr_airflow.topology_file import read_topology
from support.browser import PLAIN, Page, chromium
from support.kept_situations import RUN, keep_situation, topology_of
from support.served_pages import served
from support.situation_cases import CASES

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

GOAL_SECONDS = 0.3
_COPY = "document.querySelector('button[data-copy]')"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield page


@pytest.fixture
def base(pages: TestClient) -> Iterator[str]:
    """Return the address of the pages, served to whoever asks."""
    from kafka_dr_airflow.views import evidence

    with served(evidence.app) as address:
        yield address


def opened(page: Page, address: str) -> str:
    """Open a page, and return what a person reads."""
    page.ask("window.before = true")
    page.go(address)
    page.wait("!window.before && document.readyState === 'complete' && document.querySelector('main')")
    return page.text()


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
