"""Packages that only one test needs: installed once into a folder of their own, next to the pinned environment.

A process that has this folder first on its path uses them; nothing else does. Flask-AppBuilder needs an older
python-dateutil than the lab's environment has; the StatsD client is an extra of Airflow that no DAG needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab.bootstrap import INCLUDE, cache_folder, installer_settings, locked, pins_digest

_SECONDS = 600.0


def fab_environ(home: Path) -> dict[str, str]:
    """Return the environment of a process of an Airflow with the FAB auth manager.

    :param home: of that Airflow, with its database
    """
    folders = (installed("fab"), *(INCLUDE.parent / each for each in ("include", "plugins", "tests")))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
    }


def requirements(name: str) -> Path:
    """Return the file that pins packages of a name."""
    return INCLUDE / "requirements" / f"requirements-{name}.txt"


def installed(name: str) -> Path:
    """Return the folder with the packages; install them, with their hashes required, if they are not there whole.

    :param name: of ``requirements-<name>.txt``
    """
    cache, pins = cache_folder(os.environ), requirements(name)
    folder = cache / f"{name}-{sys.implementation.cache_tag}-{pins_digest(pins.read_text('utf-8'))}"
    stamp = folder / "complete"
    with locked(cache, f"{name}.lock"):
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder, pins)
            stamp.touch()
    return folder


def _install(folder: Path, pins: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes", "--no-deps",
            "--python", sys.executable, "--target", str(folder), "-r", str(pins),
        ],
        env=installer_settings(os.environ), capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
