"""What an audit job is given by hand: a topology file, a file of connections, an environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from kafka_dr.topology.blocks import MEMBERS_OF, alone_names, group_names
from lab import rights
from support.kept_list import CONTENT_KEYS
from support.protection import Protection


def job_environ(protection: Protection) -> dict[str, str]:
    """Write the file of connections that the audits need, and return what names it."""
    path = protection.folder / "connections.json"
    entries: dict[str, dict[str, str]] = {}
    for cluster in protection.lab.clusters:
        entries[f"kafka_{cluster.name}_audit"] = protection.lab.client_settings(cluster.name, rights.AUDIT)
    if (encryption := protection.topology.evidence.encryption_connection) is not None:
        entries[encryption] = {"key_id": CONTENT_KEYS.current, "key": CONTENT_KEYS.keys[CONTENT_KEYS.current].hex()}
    path.touch(mode=0o600)
    path.write_text(json.dumps(entries), encoding="utf-8")
    return {"KAFKA_DR_SECRETS_FILE": str(path)}


def topology_file(protection: Protection, *, west: Mapping[str, str] | None = None) -> Path:
    """Write the topology of a protection group of a test's own.

    :param west: what it says of west in addition
    """
    declared = protection.topology.model_dump(mode="json", exclude_none=True)
    for section in MEMBERS_OF:
        for block, spec in declared[section].items():
            for name in (*group_names(section, block, spec).values(), *alone_names(block, spec).values()):
                del declared["protection_groups"][name]
    for group in declared["protection_groups"].values():
        del group["name"]
    declared["clusters"]["west"] |= west or {}
    path = protection.folder / "topology.yaml"
    path.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return path
