"""What Airflow's processes read before anything else: the topology file, and where it says that evidence is kept."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from airflow.sdk import ObjectStoragePath

from kafka_dr.errors import Refused
from kafka_dr.storage.deadline_path import DeadlinePath, with_deadline
from kafka_dr.topology.evidence import EvidenceSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology

#: The environment variable that names the topology file.
TOPOLOGY = "KAFKA_DR_TOPOLOGY"


def read_topology(environ: Mapping[str, str]) -> Topology:
    """Read the topology from the file that the environment names.

    :raises Refused: the environment names none
    :raises TopologyError: with everything that is wrong with the file
    """
    if not (path := environ.get(TOPOLOGY)):
        raise Refused(f"{TOPOLOGY} is not set: it names the topology file, for instance include/topology.yaml")
    try:
        seen = Path(path).stat()
    except OSError:
        return load(Path(path), environ)  # says why
    version = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
    return _loaded(Path(path), version, tuple(sorted(environ.items())))


@lru_cache(maxsize=2)
def _loaded(path: Path, _version: tuple[int, ...], environ: tuple[tuple[str, str], ...]) -> Topology:
    """Load a file once for each version of it: with a hundred groups that takes a second."""
    return load(path, dict(environ))


def evidence_root(evidence: EvidenceSpec) -> DeadlinePath:
    """Return the evidence root: a path on this machine, else one of Airflow's object storage. Accesses have a deadline.

    On a file system "create the file, unless it exists" is one atomic call; object storage does that differently.
    """
    local = evidence.root.removeprefix("file://")
    root: Any = Path(local) if local.startswith("/") else ObjectStoragePath(evidence.root)
    return with_deadline(root, seconds=evidence.access_seconds)
