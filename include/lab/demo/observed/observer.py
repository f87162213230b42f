"""Observes a flow as somebody does on the first day: two connections, a few lines of a topology, one command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.clusters import EAST, WEST
from lab.credentials import write_private
from lab.demo.asked import asked, written_files
from lab.demo.observed.others_flow import GROUP_PREFIXES, OBSERVER, OthersFlow

FLOW = "east-to-west"
SECONDS = 600.0


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
    environ = written_files(files.topology, files.connections)
    report, _ = asked("observe", FLOW, "--report", str(page), environ=environ, seconds=SECONDS)
    return dict(report)


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
