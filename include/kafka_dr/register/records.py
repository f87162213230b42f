"""Keys and values of the register topic.

========================================  =====================================================
key                                       value
========================================  =====================================================
``group/<name>``                          a :class:`~kafka_dr.register.state.RegisterState`
``run/<group>/<run>/<fact>``              a fact of a run: a JSON object, or how many parts it has
``run/<group>/<run>/<fact>#<n>``          part *n* of a fact above 512 KiB, in one transaction
``fence/<group>/<cluster>``               the ACLs that this project added there, or how many parts that has
``fence/<group>/<cluster>#<n>``           part *n* of them above 512 KiB, in one transaction
========================================  =====================================================
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import NeedsPerson

REGISTER_TOPIC = "_kafka_dr.register"
LARGEST_PART = 512 * 1024
_UNREADABLE = "the register's record of added ACLs cannot be read"


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
    value = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
    return _in_parts(run_prefix(group, run) + fact.encode(), value)


def fence_records(group: str, cluster: str, acls: Collection[Acl]) -> list[tuple[bytes, bytes]]:
    """Return the records that hold the ACLs that were added: one, or its parts followed by their number."""
    return _in_parts(fence_key(group, cluster), acls_to_json(acls))


def added_acls_of(records: Mapping[bytes, bytes], group: str, cluster: str) -> frozenset[Acl]:
    """Put the ACLs that were added to a cluster together again.

    :param records: newest value by key
    :raises NeedsPerson: a part is missing or cannot be read
    """
    key = fence_key(group, cluster)
    if key not in records:
        return frozenset()
    value = records[key]
    # ACLs are always an object, so a bare number can only be that of their parts.
    if value.isdigit():
        try:
            value = b"".join(records[_part(key, number)] for number in range(int(value)))
        except KeyError as error:
            raise NeedsPerson(f"{_UNREADABLE}: part {error} is missing") from error
    return acls_from_json(value)


def _in_parts(key: bytes, value: bytes) -> list[tuple[bytes, bytes]]:
    if len(value) <= LARGEST_PART:
        return [(key, value)]
    parts = [value[start : start + LARGEST_PART] for start in range(0, len(value), LARGEST_PART)]
    listed = [(_part(key, number), part) for number, part in enumerate(parts)]
    return [*listed, (key, json.dumps(len(parts)).encode())]


def _part(key: bytes, number: int) -> bytes:
    return key + f"#{number}".encode()


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
    """Return ACLs as JSON, in a fixed order.

    A fence is every principal and operation on every name. What is said alike of many names is written once for all of
    them: 27,000 DENYs as one record of some kilobytes, written before each change of a fence.
    """
    said: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for acl in sorted(acls):
        about: tuple[str, ...] = (acl.resource, acl.pattern, acl.permission, acl.host, acl.name)
        said.setdefault(about, []).append((acl.principal, acl.operation))
    alike: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    for about, who in said.items():
        alike.setdefault((about[:-1], tuple(who)), []).append(about[-1])
    entries = [
        {"resource": resource, "pattern": pattern, "permission": permission, "host": host, "names": names, "who": who}
        for ((resource, pattern, permission, host), who), names in alike.items()
    ]
    return json.dumps({"fences": entries}, separators=(",", ":")).encode()


def acls_from_json(value: bytes) -> frozenset[Acl]:
    """Read what :func:`acls_to_json` wrote, now or in a former version, which wrote each ACL by itself.

    :raises NeedsPerson: it cannot be read
    """
    try:
        whole = json.loads(value)
        if "acls" in whole:
            return frozenset(
                _acl(entry, entry["name"], entry["principal"], entry["operation"]) for entry in whole["acls"]
            )
        return frozenset(
            _acl(entry, name, principal, operation)
            for entry in whole["fences"]
            for name in entry["names"]
            for principal, operation in entry["who"]
        )
    except (KeyError, ValueError, TypeError) as error:
        raise NeedsPerson(f"{_UNREADABLE}: {error}") from error


def _acl(entry: Mapping[str, str], name: str, principal: str, operation: str) -> Acl:
    return Acl(
        resource=ResourceType(entry["resource"]),
        name=name,
        pattern=PatternType(entry["pattern"]),
        principal=principal,
        operation=AclOperation(operation),
        permission=AclPermission(entry["permission"]),
        host=entry["host"],
    )
