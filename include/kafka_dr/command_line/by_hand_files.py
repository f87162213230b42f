"""The client settings that the commands by hand read: private files, or on paper the same without any secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kafka_dr.causes import cause
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.errors import Refused
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.model import ProtectionGroup

#: The roles whose client settings the commands read.
ToolRole = Literal["operator", "probe"]
_ROLES: tuple[ToolRole, ...] = ("operator", "probe")
_HIDDEN = "PASSWORD"


def access(servers: Mapping[str, str], cluster: str, role: ToolRole = "operator") -> ToolAccess:
    """Return how the tools reach a cluster.

    :param servers: the bootstrap servers, by cluster
    """
    return ToolAccess(cluster, servers[cluster], _client_file(cluster, role))


def _client_file(cluster: str, role: ToolRole) -> str:
    return f"{cluster}-{role}.properties"


def on_paper(clients: Clients, group: ProtectionGroup) -> dict[str, str]:
    """Return the client settings by file, without any secret: a person writes each one in."""
    found = {}
    for cluster in group.clusters:
        for role in _ROLES:
            settings = clients.cluster(cluster, role).settings
            hidden = replace(
                settings,
                password=_HIDDEN if settings.password else None,
                key_password=_HIDDEN if settings.key_password else None,
            )
            shown = {
                key: "PEM-OF-THE-KEY" if key == "ssl.keystore.key" else text for key, text in hidden.java().items()
            }
            found[_client_file(cluster, role)] = _properties(shown)
        found |= clients.replication.by_hand(cluster).files(hidden=True)
    return found


def write_client_files(clients: Clients, group: ProtectionGroup, folder: Path) -> None:
    """Write the client settings with their secrets into a private folder.

    :raises Refused: they cannot be written
    """
    found = {}
    for cluster in group.clusters:
        for role in _ROLES:
            found[_client_file(cluster, role)] = _properties(clients.cluster(cluster, role).settings.java())
        found |= clients.replication.by_hand(cluster).files(hidden=False)
    write_private(folder, found)


def write_private(folder: Path, files: Mapping[str, str]) -> None:
    """Write files that only their owner may read, into a folder that only its owner may enter.

    :param files: texts by name
    :raises Refused: they cannot be written, or others may enter the folder
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            raise Refused(f"others may enter {folder}, expected the mode 0700: it is to hold passwords")
        for name, text in files.items():
            path = folder / name
            path.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({cause(error)}): name another folder with --files") from error


def _properties(settings: Mapping[str, str]) -> str:
    """Return a Java properties file: backslashes and line breaks are escaped."""
    escaped = {name: value.replace("\\", "\\\\").replace("\n", "\\n") for name, value in settings.items()}
    return "".join(f"{name}={value}\n" for name, value in escaped.items())
