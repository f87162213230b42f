"""Asks the product's command, as somebody at a terminal does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from lab.errors import LabError
from lab.layout import PROJECT

#: Exit codes after which there is an answer: good, bad, unknown.
_ANSWERED = (0, 1, 3)


def asked(*arguments: str, environ: Mapping[str, str], seconds: float) -> Any:
    """Return the answer of ``kafka_dr … --json``, and its exit code.

    :param environ: what says where topology and connections are
    :param seconds: the deadline
    :raises LabError: there is no answer
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR"))}
    called = f"`kafka_dr {' '.join(arguments[:2])}`"
    try:
        said = subprocess.run(
            [sys.executable, "-m", "kafka_dr", *arguments, "--json"],
            env=kept | {"PYTHONPATH": str(PROJECT / "include")} | dict(environ),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{called} did not end within {seconds:.0f} s") from error
    if said.returncode not in _ANSWERED or not said.stdout:
        raise LabError(f"{called} ended with {said.returncode}: {said.stderr.strip()[-2000:]}")
    return json.loads(said.stdout), said.returncode


def written_files(topology: object, connections: object) -> dict[str, str]:
    """Return what names a topology and connections to the command."""
    return {"KAFKA_DR_TOPOLOGY": str(topology), "KAFKA_DR_CONNECTIONS": str(connections)}
