"""Observes a flow as somebody does on the first day: two connections, a few lines of a topology, one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ObserverFiles:
    """What the observer wrote: a topology, and the connections for the command and for Spark's jobs.

    :param folder: everything is in it, the evidence too
    """

    folder: Path

    @property
    def topology(self) -> Path:
        """The topology."""
        return self.folder / "topology.yaml"

    @property
    def connections(self) -> Path:
        """The connections in Airflow's format."""
        return self.folder / "connections.json"

    @property
    def secrets(self) -> Path:
        """The connections as Spark's jobs read them."""
        return self.folder / "secrets.json"

    @property
    def flow_name(self) -> str:
        """What Spark's jobs call the flow."""
        return f"{FLOW}.{EAST.name}-to-{WEST.name}"

    @classmethod
    def written(cls, flow: OthersFlow, folder: Path, *, topics: Sequence[str]) -> ObserverFiles:
        """Write them."""
        made = cls(folder)
        folder.mkdir(parents=True, exist_ok=True)
        made.topology.write_text(yaml.safe_dump(_topology(folder, topics), sort_keys=False))
        settings = {_connection(name): flow.client_settings(name, OBSERVER) for name in (EAST.name, WEST.name)}
        stored = {name: {"conn_type": "kafka", "extra": extra} for name, extra in settings.items()}
        write_private(made.connections, json.dumps(stored))
        write_private(made.secrets, json.dumps(settings))
        return made


def observe(files: ObserverFiles, *, page: Path) -> Mapping[str, Any]:
    """Run the command, and return its report.

    :raises LabError: there is no report
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR"))}
    argv = [sys.executable, "-m", "kafka_dr", "observe", FLOW, "--json", "--report", str(page)]
    given = ["--topology", str(files.topology), "--connections", str(files.connections)]
    try:
        said = subprocess.run(
            [*argv, *given],
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
                "audits": {},
            }
        },
    }


def _connection(cluster: str) -> str:
    return f"kafka_{cluster}_{OBSERVER}"
