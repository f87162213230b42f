"""Airflow's FAB auth manager for a test: installed once into a folder of its own, next to the pinned environment.

Flask-AppBuilder needs an older python-dateutil than ``requirements.txt`` pins. A process that has this folder first on
its path uses that one; nothing else does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab.bootstrap import INCLUDE, cache_folder, installer_settings, locked, pins_digest

REQUIREMENTS = INCLUDE / "requirements" / "requirements-fab.txt"
_SECONDS = 240.0


def installed() -> Path:
    """Return the folder with the packages; install them, with their hashes required, if they are not there whole."""
    cache = cache_folder(os.environ)
    folder = cache / f"fab-{sys.implementation.cache_tag}-{pins_digest(REQUIREMENTS.read_text('utf-8'))}"
    stamp = folder / "complete"
    with locked(cache, "fab.lock"):
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder)
            stamp.touch()
    return folder


def _install(folder: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes", "--no-deps",
            "--python", sys.executable, "--target", str(folder), "-r", str(REQUIREMENTS),
        ],
        env=installer_settings(os.environ), capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
