"""There is one version, and the command line says it."""

from __future__ import annotations

import tomllib

from typer.testing import CliRunner

from kafka_dr.command_line.app import app
from lab.layout import PROJECT


def test_the_command_line_says_the_version_of_the_project() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    found = CliRunner().invoke(app, ["--version"])
    assert (found.exit_code, found.stdout.strip()) == (0, declared)
