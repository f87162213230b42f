"""What the lab's servers logged as errors while a test ran that failed: their answers do not name the cause."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

_SECTION = "what the lab's servers logged as errors"
#: How much of the end of a log is looked at, in bytes, and how many lines of it are shown.
_LAST_BYTES, _SHOWN = 200_000, 60


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep them with the report of a test that failed."""
    report = yield
    home = getattr(getattr(item, "funcargs", {}).get("lab"), "home", None)
    if report.failed and home is not None:
        logs = sorted(home.logs.glob("*.log"))
        report.sections.extend((f"{_SECTION}: {log.stem}", found) for log in logs if (found := _errors(log)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show them last, where a long output that is cut still has them."""
    for kind in ("error", "failed"):
        for report in terminalreporter.getreports(kind):
            for title, found in report.sections:
                if title.startswith(_SECTION):
                    terminalreporter.section(title)
                    terminalreporter.write_line(found)


def _errors(log: Path) -> str:
    """The end of a log from its last errors on."""
    with log.open("rb") as read:
        read.seek(max(0, log.stat().st_size - _LAST_BYTES))
        lines = read.read().decode(errors="replace").splitlines()
    from_here = [number for number, line in enumerate(lines) if " ERROR " in line]
    wanted = {n for first in from_here for n in range(first, first + 12)}
    return "\n".join([line[:300] for n, line in enumerate(lines) if n in wanted][-_SHOWN:])
