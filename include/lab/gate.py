"""``test``: format, lint and types first, then the tests, all with the lab's own environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from lab.layout import PROJECT
from lab.leftovers import RUN, end_leftovers, new_run

SOURCES = ("include", "plugins", "dags", "spark", "tests")

#: Most tests wait for brokers, so two cores serve four workers. A worker that died is not replaced.
IN_PARALLEL = ("-n", "4", "--max-worker-restart", "0")
#: All of it takes a quarter of that; what takes longer hangs. Seconds, and those to end in by itself.
DEADLINE_SECONDS = 4800.0
ENDING_SECONDS = 60.0


def checks(project: Path) -> dict[str, tuple[str, ...]]:
    """The command lines that have to pass as well as the tests."""
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
    tests = _module(("pytest", *(pytest_arguments or IN_PARALLEL)))
    if failed and not tests:
        console.print("[red]the tests passed, and a check before them did not[/]: see above")
    return tests or failed


def _module(argv: Sequence[str]) -> int:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR_LAB"))}
    sys.stdout.flush()
    name = new_run()
    try:
        # Unbuffered: of a run that is killed one sees how far it came.
        return within([sys.executable, "-m", *argv], kept | {"PYTHONUNBUFFERED": "1", RUN: name}, DEADLINE_SECONDS)
    finally:
        end_leftovers(name)


def within(argv: Sequence[str], environ: Mapping[str, str], seconds: float) -> int:
    """Run a command with a deadline. After it the command is interrupted, and killed if it still does not end.

    :returns: its exit code, never 0 if it had to be interrupted
    """
    # What a shell starts in the background ignores SIGINT, and so would the command, for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(argv, cwd=PROJECT, env=environ)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        print(f"{argv[2]} has not ended within {seconds:g} s: interrupted", flush=True)
        return _interrupted(process) or 1
    except BaseException:
        _interrupted(process)
        raise


def _interrupted(process: subprocess.Popen[bytes]) -> int:
    """Let a process end what it started, and kill it if that takes too long."""
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
