"""Observes a flow as somebody does on the first day: two connections, a few lines of a topology, one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lab.clusters import EAST, WEST
from lab.credentials import write_private
from lab.demo.observed.others_flow import GROUP_PREFIXES, OBSERVER, OthersFlow
from lab.errors import LabError
from lab.layout import PROJECT

FLOW = "east-to-west"
SECONDS = 600.0
#: Exit codes of ``observe`` after which there is a report: good, bad, unknown.
_REPORTED = (0, 1, 3)


def observe(flow: OthersFlow, folder: Path, *, topics: Sequence[str], page: Path) -> Mapping[str, Any]:
    """Run the command, and return its report.

    :param folder: for the topology and the connections
    :param page: the file of the report for people
    :raises LabError: there is no report
    """
    topology, connections = folder / "topology.yaml", folder / "connections.json"
    folder.mkdir(parents=True, exist_ok=True)
    topology.write_text(yaml.safe_dump(_topology(folder, topics), sort_keys=False))
    write_private(connections, json.dumps(_connections(flow)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR"))}
    argv = [sys.executable, "-m", "kafka_dr", "observe", FLOW, "--json", "--report", str(page)]
    files = ["--topology", str(topology), "--connections", str(connections)]
    try:
        said = subprocess.run(
            [*argv, *files],
            env=kept | {"PYTHONPATH": str(PROJECT / "include")},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`kafka_dr observe {FLOW}` did not end within {SECONDS:.0f} s") from error
    if said.returncode not in _REPORTED or not said.stdout:
        raise LabError(f"`kafka_dr observe {FLOW}` ended with {said.returncode}: {said.stderr.strip()[-2000:]}")
    report: dict[str, Any] = json.loads(said.stdout)
    return report


def _topology(folder: Path, topics: Sequence[str]) -> dict[str, Any]:
    return {
        "evidence": {"root": str(folder)},
        "observed_flows": {
            FLOW: {
                "source": {"name": EAST.name, "connection": _connection(EAST.name)},
                "target": {"name": WEST.name, "connection": _connection(WEST.name)},
                "naming": {"policy": "default", "source_alias": EAST.name},
                "topics": list(topics),
                "consumer_group_prefixes": list(GROUP_PREFIXES),
            }
        },
    }


def _connections(flow: OthersFlow) -> dict[str, Any]:
    return {
        _connection(name): {"conn_type": "kafka", "extra": flow.client_settings(name, OBSERVER)}
        for name in (EAST.name, WEST.name)
    }


def _connection(cluster: str) -> str:
    return f"kafka_{cluster}_{OBSERVER}"
