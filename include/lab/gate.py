"""``test``: format, lint, types and the tests, all with the lab's own environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from rich.console import Console

from lab import class_archives
from lab.api import Lab
from lab.bootstrap import cache_folder
from lab.errors import LabError
from lab.layout import PROJECT, Ports
from lab.leftovers import NOTE, RUN, end_leftovers, new_run, noted_folder
from lab.ports import first_free_base
from lab.processes import uninterrupted
from lab.spark import compiled_in

SOURCES = ("include", "plugins", "dags", "spark", "tests")

#: A worker that died is not replaced.
#: At the end it shows what took longest; the start of a lab is the "setup" of the first test that needs it.
_IN_PARALLEL = ("--max-worker-restart", "0", "--durations", "30", "--durations-min", "10")
#: Most tests wait for brokers, so two cores serve four workers. Each more would cost a lab, which is never idle.
_WITH_LABS = ("-n", "4", *_IN_PARALLEL)
#: What starts no lab.
QUICK = "--quick"
#: Also what takes minutes each: disasters, demos, sabotages. Many run several labs, so two at a time fill two cores.
LONG = "--long"
#: The whole runs, by what follows ``test``: the arguments of pytest.
WHOLE: Mapping[tuple[str, ...], tuple[str, ...]] = {
    (): _WITH_LABS,
    (LONG,): ("-n", "2", *_IN_PARALLEL, LONG),
    (QUICK,): ("-n", "3", *_IN_PARALLEL, QUICK),
}
#: A run takes a third of that; what takes longer hangs. Seconds, and those to end in by itself.
DEADLINE_SECONDS = 4800.0
LONG_DEADLINE_SECONDS = 8 * 3600.0
ENDING_SECONDS = 60.0
#: Not the default ports: somebody may use a lab meanwhile.
_PORT_BASES = tuple(range(28000, 20000, -1000))
_PORTS = Ports(_PORT_BASES[0]).span


def checks(project: Path) -> dict[str, tuple[str, ...]]:
    """The command lines that have to pass as well as the tests."""
    sources = tuple(name for name in SOURCES if next((project / name).rglob("*.py"), None))
    return {
        "ruff check": ("ruff", "check", "."),
        "ruff format": ("ruff", "format", "--check", "."),
        # A checkout of its own has no cache in its folder; what was checked for another one with the same text counts.
        "mypy": ("mypy", "--cache-dir", str(cache_folder(os.environ) / "mypy"), *sources),
    }


def run(pytest_arguments: Sequence[str], console: Console) -> int:
    """Run everything that has to pass, or with other arguments than those of a whole run pytest alone.

    All of it runs, whatever fails. The checks run next to the tests, which wait for brokers, and are shown after them.

    :returns: 0 if all passed, else the exit code of what failed, that of pytest before others.
    """
    sys.stdout.flush()
    whole = WHOLE.get(tuple(pytest_arguments))
    with _run_of_its_own(_environ()) as environ, ExitStack() as stack:
        wanted = checks(PROJECT) if whole else {}
        started = [stack.enter_context(_Check(each, argv, environ)) for each, argv in wanted.items()]
        if whole and QUICK not in whole:
            _make_class_archives(environ, console)
        seconds = LONG_DEADLINE_SECONDS if LONG in pytest_arguments else DEADLINE_SECONDS
        tests = within([sys.executable, "-m", "pytest", *(whole or pytest_arguments)], environ, seconds)
        failed = [code for check in started if (code := check.show(console))]
    if failed and not tests:
        console.print("[red]the tests passed, and a check did not[/]: see above")
    return tests or next(iter(failed), 0)


@contextmanager
def _run_of_its_own(environ: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Yield the environment of a test run. After it none of its processes is left, also where pytest was killed."""
    name = new_run()
    with tempfile.TemporaryDirectory(prefix="kafka-dr-test-") as folder:
        note = Path(folder) / "note"
        try:
            yield {**environ, RUN: name, NOTE: str(note)}
        finally:
            with uninterrupted():
                end_leftovers(name, noted_folder(note))


def _make_class_archives(environ: Mapping[str, str], console: Console) -> None:
    """Let the many labs of a whole run start with less work; without the archives they start as well."""

    def run_lab(folder: Path) -> None:
        lab = Lab(folder, port_base=first_free_base(_PORT_BASES, _PORTS), environ=environ, recording=True)
        try:
            lab.up(airflow=False)
        finally:
            lab.down()

    try:
        class_archives.make(environ, run_lab)
    except LabError as error:
        console.print(f"[yellow]Kafka starts without class archives[/]: {error}", markup=True, highlight=False)


class _Check:
    """A command that runs in the background. Its output is kept until the tests have ended."""

    def __init__(self, name: str, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        self._name = name
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the check
        self._process = subprocess.Popen(
            [sys.executable, "-m", *argv], cwd=PROJECT, env=environ, stdout=self._output, stderr=subprocess.STDOUT
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()

    def show(self, console: Console) -> int:
        """Wait for the end of the command, show its output, and return its exit code."""
        code = self._process.wait(DEADLINE_SECONDS)
        self._output.seek(0)
        console.print(self._output.read().decode(errors="replace").strip(), markup=False, highlight=False)
        console.print(f"[green]✓[/] {self._name}" if code == 0 else f"[red]✗[/] {self._name}: exit code {code}")
        return code


def _environ() -> dict[str, str]:
    """Return this environment without settings of a lab, and with output at once: it shows how far a killed run got.

    Hundreds of processes of a whole run import the same; each would compile it where Python may write nothing.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR_LAB"))}
    return kept | compiled_in(cache_folder(os.environ)) | {"PYTHONUNBUFFERED": "1"}


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
