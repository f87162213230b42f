"""Where evidence lies, as Airflow reaches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import ObjectStoragePath


def evidence_root(root: str) -> Any:
    """Return the evidence root as a path object: a plain path on this machine, else one of Airflow's object storage.

    On a file system "create, unless it exists" is one atomic call; object storage has its own ways.

    :param root: a URI or an absolute path
    """
    local = root.removeprefix("file://")
    return Path(local) if local.startswith("/") else ObjectStoragePath(root)
