"""What is sent to executors is all that a task imports of this project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from jobs.executor_modules import archive


def test_a_task_needs_nothing_of_this_project_that_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "sent.zip").write_bytes(archive())
    code = "import copy_audit.item_tasks as tasks; print(tasks.__file__)"
    environ = {"PYTHONPATH": str(tmp_path / "sent.zip"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path)), done.stderr


def test_the_same_modules_are_the_same_file() -> None:
    """Drivers that share an application send it under one name, and Spark refuses another content."""
    assert archive() == archive()
