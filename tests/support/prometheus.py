"""Prometheus' own tools (Debian: ``prometheus``), and what they make of a text."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_SAMPLE = re.compile(r"^(\{.*\}) (\S+) \d+$")
_LINE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)=("(?:[^"\\]|\\.)*")')


def promtool(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' checker, and return what it said."""
    program = shutil.which("promtool")
    if program is None:
        pytest.fail("promtool is missing, which checks rules and metrics: apt-get install prometheus")
    return subprocess.run(
        [program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def read_back(text: str, folder: Path) -> dict[tuple[tuple[str, str], ...], float]:
    """Let Prometheus read OpenMetrics text, and return the samples that it has kept, by all their labels.

    :param folder: for the text and the blocks
    """
    # This tool reads only samples with a time; a page for scraping has none.
    lines = [line if line.startswith("#") else f"{line} 1767225600" for line in text.splitlines()]
    given, blocks = folder / "given.txt", folder / "blocks"
    (blocks / "wal").mkdir(parents=True)  # dump asks for it
    given.write_text("\n".join(lines) + "\n", "utf-8")
    done = promtool("tsdb", "create-blocks-from", "openmetrics", given, blocks)
    assert done.returncode == 0, done.stderr[-2000:]
    dumped = promtool("tsdb", "dump", blocks)
    assert dumped.returncode == 0, dumped.stderr
    found = [match for line in dumped.stdout.splitlines() if (match := _SAMPLE.match(line))]
    return {_labels(match[1]): float(match[2]) for match in found}


def samples_in(text: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the samples of a page by all their labels. Quicker than :func:`read_back`, and less strict."""
    lines = text.splitlines()
    assert lines[-1] == "# EOF"
    found: dict[tuple[tuple[str, str], ...], float] = {}
    for line in lines:
        if not line.startswith("#"):
            match = _LINE.fullmatch(line)
            assert match is not None, line
            labels = _labels(f'__name__="{match[1]}",{match[2] or ""}')
            assert labels not in found, line
            found[labels] = float(match[3])
    return found


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    # Go writes texts as Python reads them, as far as labels have such characters.
    return tuple(sorted((name, str(ast.literal_eval(value))) for name, value in _LABEL.findall(text)))
