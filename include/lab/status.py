"""What a lab is and whether it answers: one value, shown as a table or as JSON. Paths of credentials, never values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process of the lab."""

    name: str
    running: bool
    pid: int | None
    log: Path


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """One datacenter: its addresses, and the files with the settings of its clients."""

    name: str
    cluster_id: str
    bootstrap_servers: str
    connect_url: str
    connect_group_id: str
    connect_secrets: Path
    client_settings: dict[str, Path]
    java_client_settings: dict[str, Path]


@dataclass(frozen=True, slots=True)
class AirflowStatus:
    """Airflow's address, and the file with its users' passwords."""

    url: str
    home: Path
    passwords: Path
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabStatus:
    """The whole lab, as seen by one look at it.

    ``ready_seconds`` is how long the last ``up`` took until everything answered; ``None`` if nobody measured.
    """

    home: Path
    port_base: int
    brokers: int
    processes: tuple[ProcessStatus, ...]
    clusters: tuple[ClusterStatus, ...]
    airflow: AirflowStatus
    route: Path
    evidence: Path
    environ: dict[str, str]
    ready_seconds: float | None = None

    @property
    def running(self) -> bool:
        """Whether something runs and nothing that was started is dead."""
        return bool(self.processes) and all(process.running for process in self.processes)

    @property
    def in_use(self) -> bool:
        """Whether anything runs: then it is somebody's, who does not want it ended, whole or not."""
        return any(process.running for process in self.processes)

    def as_json(self) -> dict[str, Any]:
        """Plain data for ``status --json``."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain | {"running": self.running}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
