"""The product as a user has it: a topology, two connections, and its command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.credentials import write_private
from lab.demo.asked import asked, written_files
from lab.demo.stretch.placed import DELAY, PREFIX, WELL
from lab.rights import DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE, Resource, Right

OBSERVER, PROBE, WRITER = "stretch-observer", "stretch-probe", "stretch-writer"
#: Exactly what the guide asks for, and the application's own.
RIGHTS = (
    Right(OBSERVER, Resource.CLUSTER, "kafka-cluster", (DESCRIBE, DESCRIBE_CONFIGS), "see brokers and controllers"),
    Right(OBSERVER, Resource.TOPIC, "*", (DESCRIBE, DESCRIBE_CONFIGS), "see replicas and settings"),
    Right(PROBE, Resource.TOPIC, DELAY, (DESCRIBE, WRITE), "measure the delay"),
    Right(WRITER, Resource.TOPIC, f"{PREFIX}*", (DESCRIBE, READ, WRITE), "the application's work"),
    Right(WRITER, Resource.GROUP, f"{PREFIX}*", (READ,), "the application's group"),
)
#: All topics, and those alone that are placed well.
ALL, WELL_PLACED = "metro", "metro-well-placed"
SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class Product:
    """What the command reads.

    :param settings: by principal, in librdkafka's names
    """

    folder: Path
    settings: Mapping[str, Mapping[str, str]]

    def write(self) -> None:
        """Write topology and connections."""
        self.folder.mkdir(parents=True, exist_ok=True)
        delay = {"topic": DELAY, "connection": PROBE}
        usual = {"connection": OBSERVER, "acks": "all"}
        declared = {
            ALL: {**usual, "topic_prefixes": [PREFIX], "delay": delay},
            WELL_PLACED: {**usual, "topics": [WELL]},
        }
        topology = {"evidence": {"root": str(self.folder)}, "stretch_clusters": declared}
        self._topology.write_text(yaml.safe_dump(topology, sort_keys=False))
        stored = {name: {"conn_type": "kafka", "extra": {**self.settings[name]}} for name in (OBSERVER, PROBE)}
        write_private(self._connections, json.dumps(stored))

    def asked(self, name: str) -> dict[str, Any]:
        """Run the command, and return what it says, with its exit code as ``exit_code``.

        :raises LabError: it says nothing
        """
        environ = written_files(self._topology, self._connections)
        said, code = asked("stretch", name, environ=environ, seconds=SECONDS)
        return {**said, "exit_code": code}

    @property
    def _topology(self) -> Path:
        return self.folder / "topology.yaml"

    @property
    def _connections(self) -> Path:
        return self.folder / "connections.json"
