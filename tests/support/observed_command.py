"""The command ``observe`` as a person calls it on the first day: a topology of observed flows and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lab import rights
from lab.api import Lab
from support.command_line import Said, called
from support.protection import Protection

#: From east to west, with the connections of a principal that may only read.
FROM_EAST_TO_WEST: Mapping[str, Any] = {
    "source": {"name": "east", "connection": "kafka_east_observer"},
    "target": {"name": "west", "connection": "kafka_west_observer"},
}


def run_observing(lab: Lab, folder: Path, flows: Mapping[str, Mapping[str, Any]], *arguments: str) -> Said:
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
    return called(*arguments, KAFKA_DR_TOPOLOGY=str(topology), KAFKA_DR_CONNECTIONS=str(connections))


def observed(protection: Protection) -> dict[str, Any]:
    """Observe the copy of a protection group's topic, as if no group were declared, and return the report."""
    declared = {
        **FROM_EAST_TO_WEST,
        "topics": [protection.topic],
        "consumer_group_prefixes": [f"{protection.name}-"],
    }
    said = run_observing(protection.lab, protection.folder, {"theirs": declared}, "observe", "theirs", "--json")
    assert said.out, said.err
    found: dict[str, Any] = said.json
    return found
