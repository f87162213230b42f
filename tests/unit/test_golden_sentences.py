"""A sentence that was reworded fails the run and none of its tests, and one command keeps it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_CONFTEST = """
from pathlib import Path
from support import sentences
sentences.GOLDEN = Path(__file__).parent / "golden.json"
pytest_plugins = ("support.sentences",)
"""
_TEST = """
from support.sentences import assert_sentence

def test_it(tmp_path):
    assert_sentence([f"it is in {{tmp_path}}", "{said}"])
"""


def run(folder: Path, said: str, *arguments: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_it.py").write_text(_TEST.format(said=said))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_what_is_kept_is_compared_wherever_the_test_ran(tmp_path: Path) -> None:
    assert run(tmp_path, "east is fenced", "--golden")[0] == 0
    assert run(tmp_path, "east is fenced")[0] == 0
    code, shown = run(tmp_path, "east is not fenced")
    assert code == 1
    assert "1 passed" in shown
    assert "- east is fenced" in shown
    assert "+ east is not fenced" in shown
    assert run(tmp_path, "east is not fenced", "--golden")[0] == 0
    assert run(tmp_path, "east is not fenced")[0] == 0


def test_a_sentence_that_nobody_has_kept_fails_the_run(tmp_path: Path) -> None:
    code, shown = run(tmp_path, "east is fenced")
    assert (code, "+ east is fenced" in shown) == (1, True)
