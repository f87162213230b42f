"""Keys and values of the register topic.

========================================  =====================================================
key                                       value
========================================  =====================================================
``group/<name>``                          a :class:`~kafka_dr.register.state.RegisterState`
``run/<group>/<run>/<fact>``              a fact of a run: a JSON object, or how many parts it has
``run/<group>/<run>/<fact>#<n>``          part *n* of a fact above 512 KiB, in one transaction
``fence/<group>/<cluster>``               the ACLs that this project added there
========================================  =====================================================
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import NeedsPerson

REGISTER_TOPIC = "_kafka_dr.register"
LARGEST_PART = 512 * 1024


def group_key(group: str) -> bytes:
    """Return the key of a group's state."""
    return f"group/{group}".encode()


def fence_key(group: str, cluster: str) -> bytes:
    """Return the key of the ACLs that were added to a cluster for a group."""
    return f"fence/{group}/{cluster}".encode()


def run_prefix(group: str, run: str) -> bytes:
    """Return what the keys of all facts of a run begin with."""
    return f"run/{group}/{run}/".encode()


def fact_records(group: str, run: str, fact: str, payload: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return the records that hold a fact: one, or its parts followed by their number."""
    key = run_prefix(group, run) + fact.encode()
    value = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
    if len(value) <= LARGEST_PART:
        return [(key, value)]
    parts = [value[start : start + LARGEST_PART] for start in range(0, len(value), LARGEST_PART)]
    listed = [(key + f"#{number}".encode(), part) for number, part in enumerate(parts)]
    return [*listed, (key, json.dumps(len(parts)).encode())]


def facts_of(records: Mapping[bytes, bytes], group: str, run: str) -> dict[str, Any]:
    """Put the facts of a run together again.

    :param records: newest value by key
    :raises NeedsPerson: a part of a fact is missing or no JSON
    """
    return history_of(records, group).get(run, {})


def history_of(records: Mapping[bytes, bytes], group: str) -> dict[str, dict[str, Any]]:
    """Put the facts of all runs of a group together again, by run and fact.

    :param records: newest value by key
    :raises NeedsPerson: a part of a fact is missing or no JSON
    """
    prefix = f"run/{group}/".encode()
    found = {key[len(prefix) :].decode(): value for key, value in records.items() if key.startswith(prefix)}
    history: dict[str, dict[str, Any]] = {}
    try:
        for name in found:
            run, _, fact = name.rpartition("/")
            if "#" not in fact:
                history.setdefault(run, {})[fact] = _whole(found, name)
    except (KeyError, ValueError) as error:
        raise NeedsPerson(f"the journal of {group} cannot be read: {error}") from error
    return history


def _whole(found: Mapping[str, bytes], fact: str) -> Any:
    value = json.loads(found[fact])
    # A payload is always an object, so a bare number can only be that of its parts.
    if isinstance(value, int):
        return json.loads(b"".join(found[f"{fact}#{number}"] for number in range(value)))
    return value


def acls_to_json(acls: Collection[Acl]) -> bytes:
    """Return ACLs as JSON, in a fixed order."""
    return json.dumps({"acls": [asdict(acl) for acl in sorted(acls)]}, separators=(",", ":")).encode()


def acls_from_json(value: bytes) -> frozenset[Acl]:
    """Read what :func:`acls_to_json` wrote.

    :raises NeedsPerson: it cannot be read
    """
    try:
        return frozenset(
            Acl(
                resource=ResourceType(entry["resource"]),
                name=entry["name"],
                pattern=PatternType(entry["pattern"]),
                principal=entry["principal"],
                operation=AclOperation(entry["operation"]),
                permission=AclPermission(entry["permission"]),
                host=entry["host"],
            )
            for entry in json.loads(value)["acls"]
        )
    except (KeyError, ValueError, TypeError) as error:
        raise NeedsPerson(f"the register's record of added ACLs cannot be read: {error}") from error
