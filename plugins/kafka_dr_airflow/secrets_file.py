"""Airflow's connections as one private file, for a program that a task starts and that cannot ask Airflow."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafka_dr_airflow.hooks.connections import CONNECTIONS

#: The environment variable that names the file. The path is not secret; its content is in no other file.
SETTING = "KAFKA_DR_SECRETS_FILE"
_PREFIX = "kafka-dr-secrets-"
_SECRETS_FILE = re.compile(rf"{_PREFIX}(\d+)-.*\.json")


def kafka_entry(connection_id: str) -> dict[str, Any]:
    """Return how the principal of a connection of type ``kafka`` reaches its cluster."""
    return dict(CONNECTIONS.kafka(connection_id).librdkafka())


def content_key_entry(connection_id: str) -> dict[str, Any]:
    """Return the key that encrypts stranded records, without the former ones, which no job needs."""
    found = CONNECTIONS.content_keys(connection_id)
    return {"key_id": found.current, "key": found.keys[found.current].hex()}


class SecretsFile:
    """A file with mode 0600 that is removed when its task ends.

    A task that is killed cannot remove it. The next task on this machine that writes such a file does.

    :param entries: by connection id
    :param folder: where the file is; by default the machine's folder for temporary files
    """

    def __init__(self, entries: Mapping[str, Mapping[str, Any]], *, folder: Path | None = None) -> None:
        folder = folder or Path(tempfile.gettempdir())
        _remove_orphans(folder)
        # This creates it with mode 0600, under a name that nobody can guess.
        handle, name = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=".json", dir=folder)
        self.path = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(entries, file)

    def remove(self) -> None:
        """Remove the file. It may be gone already."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> SecretsFile:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.remove()


def _remove_orphans(folder: Path) -> None:
    for path in folder.glob(f"{_PREFIX}*.json"):
        found = _SECRETS_FILE.fullmatch(path.name)
        if found and not _lives(int(found[1])):
            with suppress(OSError):  # it belongs to another user, or is gone
                path.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
