"""The command ``observe`` as a person starts it on the first day: a topology of observed flows and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lab import rights
from lab.api import Lab
from support.protection import Protection

_INCLUDE = Path(__file__).resolve().parents[2] / "include"
_SECONDS = 180
#: From east to west, with the connections of a principal that may only read.
FROM_EAST_TO_WEST: Mapping[str, Any] = {
    "source": {"name": "east", "connection": "kafka_east_observer"},
    "target": {"name": "west", "connection": "kafka_west_observer"},
}


def run_observing(
    lab: Lab, folder: Path, flows: Mapping[str, Mapping[str, Any]], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with a topology of these flows alone.

    :param folder: for the files, and the evidence
    """
    topology, connections = folder / "observed.yaml", folder / "observed.json"
    stored = {"evidence": {"root": str(folder)}, "observed_flows": dict(flows)}
    topology.write_text(yaml.safe_dump(stored))
    connections.touch(mode=0o600)
    entries = {
        f"kafka_{name}_observer": {"conn_type": "kafka", "extra": lab.client_settings(name, rights.AUDIT)}
        for name in ("east", "west")
    }
    connections.write_text(json.dumps(entries))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR"))}
    files = {"KAFKA_DR_TOPOLOGY": str(topology), "KAFKA_DR_CONNECTIONS": str(connections)}
    return subprocess.run(
        [sys.executable, "-m", "kafka_dr", *arguments],
        env={**kept, **files, "PYTHONPATH": str(_INCLUDE), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def observed(protection: Protection) -> dict[str, Any]:
    """Observe the copy of a protection group's topic, as if no group were declared, and return the report."""
    declared = {
        **FROM_EAST_TO_WEST,
        "topics": [protection.topic],
        "consumer_group_prefixes": [f"{protection.name}-"],
    }
    said = run_observing(protection.lab, protection.folder, {"theirs": declared}, "observe", "theirs", "--json")
    assert said.stdout, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found
