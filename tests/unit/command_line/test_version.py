"""There is one version: the command line, the status page and the page of each sealed run say it."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

from typer.testing import CliRunner

from kafka_dr.command_line.app import app
from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.sealed_run import SealedRun
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import build_status_view
from lab.layout import PROJECT

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_the_command_line_says_the_version_of_the_project() -> None:
    found = CliRunner().invoke(app, ["--version"])
    assert (found.exit_code, found.stdout.strip()) == (0, DECLARED)


def test_the_status_page_says_it() -> None:
    links = StatusLinks("/", *([lambda *_: "/"] * 7))
    assert f"Version {DECLARED} of kafka-dr." in render_status(build_status_view((), NOON, links, {}))


def test_the_page_of_a_sealed_run_says_it_and_the_seal_covers_that(tmp_path: Path) -> None:
    (tmp_path / "01-preflight.1.json").write_text("{}")
    run = SealedRun("orders", "r1", tmp_path)
    seal = run.write(NOON, previous=None, key=None)
    assert f"Sealed 2026-03-01 12:00:00 UTC by version {DECLARED};" in (tmp_path / seal.page).read_text()
    assert seal.page in (tmp_path / seal.manifest).read_text()
