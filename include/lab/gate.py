"""``test``: format, lint and types first, then the tests, all with the lab's own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from lab.layout import PROJECT

SOURCES = ("include", "plugins", "dags", "spark", "tests")

#: Two at a time; tests that share a lab stay together.
BESIDE_EACH_OTHER = ("-n", "2")


def checks(project: Path) -> dict[str, tuple[str, ...]]:
    """The command lines that have to pass beside the tests."""
    sources = tuple(name for name in SOURCES if next((project / name).rglob("*.py"), None))
    return {
        "ruff check": ("ruff", "check", "."),
        "ruff format": ("ruff", "format", "--check", "."),
        "mypy": ("mypy", *sources),
    }


def run(pytest_arguments: Sequence[str], console: Console) -> int:
    """Run everything, or with arguments pytest alone.

    All of it runs, whatever fails; pytest comes last, so that its closing line is the last thing seen.

    :returns: 0 if all passed, else the exit code of what failed, that of pytest before others.
    """
    failed = 0
    if not pytest_arguments:
        for name, argv in checks(PROJECT).items():
            code = _module(argv)
            console.print(f"[green]✓[/] {name}" if code == 0 else f"[red]✗[/] {name}: exit code {code}")
            failed = failed or code
    tests = _module(("pytest", *(pytest_arguments or BESIDE_EACH_OTHER)))
    if failed and not tests:
        console.print("[red]the tests passed, and a check before them did not[/]: see above")
    return tests or failed


def _module(argv: Sequence[str]) -> int:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR_LAB"))}
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-m", *argv], cwd=PROJECT, env=environ, check=False).returncode
