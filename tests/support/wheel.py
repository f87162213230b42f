"""The wheel of this project, built from these files, and a Python that has of this project nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bootstrap import PROJECT, installer_settings

_SECONDS = 600.0


def built(folder: Path) -> Path:
    """Build the wheel into a folder, and return its file."""
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)], PROJECT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@dataclass(frozen=True, slots=True)
class WheelPython:
    """A virtual environment and an Airflow home, whose folder of DAGs has one file with one line.

    :param folder: holds both; commands run in it
    :param environ: of commands
    """

    folder: Path
    environ: Mapping[str, str]

    @classmethod
    def made(cls, folder: Path, settings: Mapping[str, str], *, on_the_lab: bool) -> WheelPython:
        """Make the environment.

        :param settings: more variables for its commands
        :param on_the_lab: whether it has the packages of the lab
        """
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "python")], folder)
        (folder / "dags").mkdir()
        (folder / "dags" / "kafka_dr.py").write_text("from kafka_dr_airflow.dags import *\n")
        airflow = {"AIRFLOW_HOME": str(folder), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        made = cls(folder, {"PATH": os.environ["PATH"], **airflow, **settings})
        if on_the_lab:
            (made.site_packages / "lab.pth").write_text(sysconfig.get_path("purelib"))
        return made

    @property
    def site_packages(self) -> Path:
        """Where the wheel is."""
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder / "python")}))

    def install(self, *arguments: str) -> None:
        """Install packages."""
        self._uv("install", "--quiet", *arguments)

    def check(self) -> None:
        """Hold that each package has what it needs, in a version that it works with."""
        self._uv("check")

    def run(self, *command: str, **more: str) -> str:
        """Run a command of the environment, and return what it printed.

        :param more: more variables for it
        """
        program = self.folder / "python" / "bin" / command[0]
        return _run([str(program), *command[1:]], self.folder, {**self.environ, **more})

    def answer(self, program: str, **more: str) -> Any:
        """Run a Python program, and return its last line, which is JSON."""
        return json.loads(self.run("python", "-c", textwrap.dedent(program), **more).splitlines()[-1])

    def _uv(self, command: str, *arguments: str) -> None:
        python = str(self.folder / "python" / "bin" / "python")
        uv = [sys.executable, "-m", "uv", "pip", command, "--python", python]
        _run([*uv, *arguments], self.folder, installer_settings(os.environ))


def _run(command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
