"""``python -m kafka_dr`` with files for topology and connections: called here, or a process as a person starts it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab import rights
from lab.credentials import SIGNING_KEY, passwords_of
from support.protection import Protection

_INCLUDE = Path(__file__).resolve().parents[2] / "include"
_ROLES = {
    "operator": rights.OPERATOR,
    "probe": rights.PROBE,
    "audit": rights.AUDIT,
    "replicator": rights.REPLICATOR,
    "drill": rights.DRILL,
}
_SECONDS = 180
_NOT_INHERITED = ("AIRFLOW", "KAFKA_DR")
_COLUMNS = "200"


@dataclass(frozen=True, slots=True)
class Said:
    """What a command ended with, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object that it wrote."""
        return json.loads(self.out)


def called(*arguments: str, **environ: str) -> Said:
    """Call the command line in this process: half the work of a process of its own is to import what it needs.

    What it sees is what such a process sees: its arguments, nothing to read, and no variable of this project or of
    Airflow but these. An error that it does not handle is raised here.
    """
    from typer.testing import CliRunner

    from kafka_dr.command_line.app import app

    left_out = dict.fromkeys(name for name in os.environ if name.startswith(_NOT_INHERITED))
    done = CliRunner().invoke(app, arguments, env={**left_out, "COLUMNS": _COLUMNS, **environ}, catch_exceptions=False)
    return Said(done.exit_code, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The command line for one protection group of the lab.

    :param protection: the group
    """

    protection: Protection

    def run(self, *arguments: str) -> Said:
        """Call a command in this process."""
        return called(*arguments, **self._files())

    def typed(self, typed: str, *arguments: str) -> Said:
        """Start a command as a process, type something, and wait until it ends.

        :param typed: what a person types
        """
        with self.started(*arguments) as process:
            out, err = process.communicate(typed, timeout=_SECONDS)
        assert process.returncode >= 0, f"{arguments[0]} was ended by signal {-process.returncode}: {err}"
        return Said(process.returncode, out, err)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command, and end it with the block if it has not ended by then.

        It inherits no variable of this project or of Airflow.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
        process = subprocess.Popen(
            [sys.executable, "-m", "kafka_dr", *arguments],
            env={
                **kept,
                **self._files(),
                "PYTHONPATH": str(_INCLUDE),
                "COLUMNS": _COLUMNS,
                "PYTHONFAULTHANDLER": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def _files(self) -> Mapping[str, str]:
        return {"KAFKA_DR_TOPOLOGY": str(self.topology()), "KAFKA_DR_CONNECTIONS": str(self.connections())}

    def topology(self) -> Path:
        """Write the topology as a file."""
        declared = self.protection.topology.model_dump(mode="json", exclude_none=True)
        for group in declared["protection_groups"].values():
            del group["name"]
        path = self.protection.folder / "topology.yaml"
        path.write_text(yaml.safe_dump(declared))
        return path

    def connections(self) -> Path:
        """Write the connections as Airflow exports them."""
        lab, stored = self.protection.lab, {}
        for cluster in lab.clusters:
            for role, principal in _ROLES.items():
                extra = lab.client_settings(cluster.name, principal)
                stored[f"kafka_{cluster.name}_{role}"] = {"conn_type": "kafka", "extra": extra}
            stored[f"connect_{cluster.name}"] = {"conn_type": "http", "host": cluster.connect_url(lab.settings)}
        stored["kafka_dr_signing"] = {"extra": {"private_key": passwords_of(lab.home)[SIGNING_KEY]}}
        path = self.protection.folder / "connections.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(stored))
        return path

    def keys(self, *names: str) -> tuple[dict[str, Path], dict[str, str]]:
        """Make a key for each person, and return the files and the public lines for ``approver_keys``."""
        files = {name: self.protection.folder / f"{name}.pem" for name in names}
        return files, {name: self.run("keygen", str(file)).out.strip() for name, file in files.items()}


def read_until(process: subprocess.Popen[str], words: str) -> tuple[str, str]:
    """Return the run that a command has begun, and everything that it wrote up to some words."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            break
    text = "".join(lines)
    found = re.search(r"run (command_line__\S+)", text)
    assert found, text
    return found[1], text
