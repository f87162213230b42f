"""An application that was refused waits before it starts again; a changed route ends that wait."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from lab.traffic import app_supervisor
from lab.traffic.app_supervisor import AppSupervisor, Folders
from lab.traffic.application import Application
from lab.traffic.fleet import AppSpec
from support.waiting import eventually

AN_HOUR = 3600.0


def never_reached(_: Application) -> None:
    raise AssertionError("there is no cluster to reach")


def test_a_changed_route_starts_an_application_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_supervisor, "RESTART_SECONDS", (AN_HOUR,))
    (logs := tmp_path / "logs").mkdir()
    folders = Folders(route=tmp_path / "route.json", clients=tmp_path / "clients", logs=logs)
    job = AppSpec("payments", "orders-app", never_reached, writes="orders")
    process = multiprocessing.get_context("fork").Process(target=AppSupervisor({"payments": job}, folders).run)

    def has_ended(times: int) -> bool:
        log = logs / "payments.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line)["event"] for line in lines].count("exit") == times

    process.start()
    try:
        eventually(lambda: has_ended(1), seconds=120)
        folders.route.write_text("no route yet")
        eventually(lambda: has_ended(2), seconds=120)
    finally:
        process.terminate()
        process.join(120)
