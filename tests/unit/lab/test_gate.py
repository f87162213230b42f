"""A command of the gate that hangs is interrupted and counts as failed; who interrupts the gate interrupts it, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lab import gate
from lab.layout import PROJECT

#: Hangs until it is interrupted, puts in order what it has begun, and says that all was well.
TIDY = """
import sys, time
from pathlib import Path
try:
    time.sleep(60)
except KeyboardInterrupt:
    Path(sys.argv[1]).write_text("in order")
"""


def test_what_hangs_is_interrupted_gets_to_put_things_in_order_and_counts_as_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "left"
    assert gate.within([sys.executable, "-c", TIDY, str(left)], os.environ, 2.0) == 1
    assert left.read_text() == "in order"
    assert "has not ended within 2 s" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("check", "tests", "expected", "said"),
    [
        ("print('well')", "", 0, "well\n✓ types"),
        ("raise SystemExit('a fault')", "", 1, "a fault\n✗ types: exit code 1"),
        ("raise SystemExit('a fault')", "assert False", 1, "✗ types: exit code 1"),
        ("print('well')", "assert False", 1, "✓ types"),
    ],
)
def test_a_check_that_fails_is_shown_after_the_tests_and_fails_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str, tests: str, expected: int, said: str
) -> None:
    (tmp_path / "check_it.py").write_text(check)
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {tests or 'pass'}\n")
    monkeypatch.setattr(gate, "PROJECT", tmp_path)
    monkeypatch.setattr(gate, "_make_class_archives", lambda _environ, _console: None)
    monkeypatch.setattr(gate, "checks", lambda _project: {"types": ("check_it",)})
    monkeypatch.setattr(gate, "WHOLE", {(): ("-q", "-n", "0", "--rootdir", str(tmp_path), str(tmp_path))})
    console = Console(record=True, width=200)
    assert gate.run((), console) == expected
    shown = console.export_text()
    assert said in shown
    assert ("the tests passed, and a check did not" in shown) == (expected == 1 and not tests)


def test_what_python_compiles_for_the_tests_is_kept_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("KAFKA_DR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "test_it.py").write_text(
        f"import sys\n\ndef test_it():\n    assert (sys.dont_write_bytecode, sys.pycache_prefix) == "
        f"(False, {str(tmp_path / 'cache' / 'compiled')!r})\n"
    )
    monkeypatch.setattr(gate, "PROJECT", tmp_path)
    assert gate.run(("-q", "--rootdir", str(tmp_path), str(tmp_path)), Console()) == 0
    assert list((tmp_path / "cache" / "compiled").rglob("test_it.*.pyc"))


def test_types_that_were_checked_in_one_checkout_are_known_in_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_DR_CACHE", str(tmp_path))
    argv = gate.checks(PROJECT)["mypy"]
    assert argv[argv.index("--cache-dir") + 1] == str(tmp_path / "mypy")


def test_what_ends_in_time_says_itself_how_it_ended() -> None:
    assert gate.within([sys.executable, "-c", "raise SystemExit(3)"], os.environ, 60.0) == 3


def test_a_gate_that_is_interrupted_interrupts_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"
    wait = subprocess.Popen.wait
    waits: list[float] = []

    def interrupted_at_first(self: subprocess.Popen[bytes], timeout: float) -> int:
        waits.append(timeout)
        if len(waits) == 1:
            with pytest.raises(subprocess.TimeoutExpired):
                wait(self, 2.0)
            raise KeyboardInterrupt
        return wait(self, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted_at_first)
    with pytest.raises(KeyboardInterrupt):
        gate.within([sys.executable, "-c", TIDY, str(left)], os.environ, 60.0)
    assert left.read_text() == "in order"
