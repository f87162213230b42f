"""The sentences that people read, in one golden file: tests compare facts, and the file holds the words.

A sentence that differs from the file fails no test. It fails the run, which shows all of them at its end; after
``python3 include/lab test --golden`` the file has them, and whoever reviews the change reads the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "sentences.json"
#: What the test that runs has said.
_said: list[str] = []
_SAID = "sentences"


def assert_sentence(said: str | Iterable[str]) -> None:
    """Hold that a sentence, or several, are those that the file has of this test, one after the other."""
    _said.extend([said] if isinstance(said, str) else said)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let one option write the file again."""
    parser.addoption("--golden", action="store_true", help=f"write {GOLDEN.name} with what is said by now")


def pytest_configure(config: pytest.Config) -> None:
    """Compare in the process that shows the results."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Comparison(write=config.getoption("--golden")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run only modules whose tests say something, if the file is written."""
    if config.getoption("--golden"):
        items[:] = [item for item in items if hasattr(getattr(item, "module", None), assert_sentence.__name__)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Add what a test has said to its report, whatever the test's own folder is called."""
    _said.clear()
    yield
    folder = str(getattr(item, "funcargs", {}).get("tmp_path", "the test's folder"))
    item.user_properties.append((_SAID, [said.replace(folder, "the test's folder") for said in _said]))


class _Comparison:
    """Hooks of the process that shows the results.

    :param write: whether the file is replaced by what was said
    """

    def __init__(self, *, write: bool) -> None:
        self._write = write
        self._golden: dict[str, list[str]] = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
        self._said: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            test, said = report.nodeid.removeprefix("tests/"), dict(report.user_properties).get(_SAID)
            if isinstance(said, list) and (said or test in self._golden):
                self._said[test] = said

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._write and not session.testsfailed:
            # A run of some files keeps what the others said.
            some = session.config.args_source is pytest.Config.ArgsSource.ARGS
            everything = sorted({**(self._golden if some else {}), **self._said}.items())
            found = {test: said for test, said in everything if said}
            GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        elif self._reworded() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._write and (reworded := self._reworded()):
            terminalreporter.section("sentences that differ from the golden file", red=True)
            for test in reworded:
                terminalreporter.write_line(test)
                for sign, said in (("-", self._golden.get(test, [])), ("+", self._said[test])):
                    terminalreporter.write_line("\n".join(f"  {sign} {each}" for each in said))
            terminalreporter.write_line("as they should be? then: python3 include/lab test --golden")

    def _reworded(self) -> list[str]:
        return [test for test, said in self._said.items() if said != self._golden.get(test)]
