"""An application that was refused waits before it starts again; a changed route ends that wait."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from lab.traffic import app_supervisor
from lab.traffic.app_supervisor import AppSupervisor, Folders
from lab.traffic.application import Application
from lab.traffic.fleet import AppSpec
from support.waiting import eventually

AN_HOUR = 3600.0


def never_reached(_: Application) -> None:
    raise AssertionError("there is no cluster to reach")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.setattr(app_supervisor, "RESTART_SECONDS", (AN_HOUR,))
    (logs := tmp_path / "logs").mkdir()
    return Folders(route=tmp_path / "route.json", clients=tmp_path / "clients", logs=logs)


@contextmanager
def supervised(folders: Folders, *, follow: bool = False) -> Iterator[None]:
    job = AppSpec("payments", "orders-app", never_reached, writes="orders")
    supervisor = AppSupervisor({"payments": job}, folders, follow=follow)
    process = multiprocessing.get_context("fork").Process(target=supervisor.run)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(120)


def change_route(folders: Folders, content: str) -> None:
    draft = folders.route.with_suffix(".draft")
    draft.write_text(content)
    draft.replace(folders.route)


def ends(folders: Folders) -> int:
    log = folders.logs / "payments.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line)["event"] for line in lines].count("exit")


def test_a_changed_route_starts_an_application_that_waits(folders: Folders) -> None:
    with supervised(folders):
        eventually(lambda: ends(folders) == 1, seconds=120)
        change_route(folders, "no route yet")
        eventually(lambda: ends(folders) == 2, seconds=120)


def test_a_route_that_changes_while_an_application_ends_is_tried(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def live(job: AppSpec, found: Folders, *, leave: Callable[[int], NoReturn]) -> NoReturn:
        if ends(found) == 0:
            change_route(found, "changed under an application that runs")
            time.sleep(20 * app_supervisor.LOOK_SECONDS)  # the supervisor sees the new route first, and the end later
        with (found.logs / f"{job.name}.jsonl").open("a") as log:
            log.write('{"event": "exit"}\n')
        leave(1)

    monkeypatch.setattr(app_supervisor, "live", live)
    with supervised(folders):
        eventually(lambda: ends(folders) == 2, seconds=120)


@pytest.mark.parametrize("follow", [True, False])
def test_an_application_that_nobody_refuses_follows_its_route_if_it_watches_it(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, follow: bool
) -> None:
    def live(job: AppSpec, found: Folders, *, leave: Callable[[int], NoReturn]) -> NoReturn:
        asked: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
        (found.logs / "started").open("a").write("x")
        while not asked:
            time.sleep(app_supervisor.LOOK_SECONDS)
        leave(0)

    monkeypatch.setattr(app_supervisor, "live", live)
    started = folders.logs / "started"
    change_route(folders, "east")
    with supervised(folders, follow=follow):
        eventually(started.exists, seconds=120)
        change_route(folders, "west")
        if follow:
            eventually(lambda: len(started.read_text()) == 2, seconds=120)
        time.sleep(20 * app_supervisor.LOOK_SECONDS)
        assert len(started.read_text()) == (2 if follow else 1), "no more often than the route changes"
