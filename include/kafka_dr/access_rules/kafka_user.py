"""The rules of one principal as a KafkaUser resource of Strimzi holds them (``spec.authorization.acls``).

The format is that of Strimzi's custom resource definition, ``kafkausers.kafka.strimzi.io``, versions v1 and v1beta2.
Strimzi's user operator makes the brokers' ACLs of a user equal to the resource, again and again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.access_rules.rows import Row, changed_rows
from kafka_dr.causes import cause
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType

#: A JSON object: the epoch of the register's record that permitted the last change, by protection group.
EPOCHS = "kafka-dr/epochs"
_RESOURCES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactionalId": ResourceType.TRANSACTIONAL_ID,
}
_PATTERNS = {"literal": PatternType.LITERAL, "prefix": PatternType.PREFIXED}
#: ``AlterConfigs`` for ``ALTER_CONFIGS``.
_OPERATIONS = {"".join(part.capitalize() for part in each.value.split("_")): each for each in AclOperation}
_WORDS = {operation: word for word, operation in _OPERATIONS.items()}
_CLUSTER_NAME = "kafka-cluster"

#: A resource, as the API of Kubernetes returns it.
Resource = Mapping[str, Any]


def user_name(principal: str, declared: Mapping[str, str]) -> str:
    """Return the name of a principal's KafkaUser: Strimzi makes it ``User:NAME`` or, with TLS, ``User:CN=NAME``.

    :param declared: names that differ, by principal
    """
    return declared.get(principal, principal.removeprefix("User:").removeprefix("CN="))


def rules_of(resource: Resource, principal: str) -> frozenset[Acl]:
    """Return every rule that a resource gives its principal.

    :raises ValueError: the resource is not as its definition says
    """
    return frozenset(acl for row in _rows(resource) for acl in _read(row, principal).values())


def with_rules(
    resource: Resource, principal: str, *, adding: frozenset[Acl], removing: frozenset[Acl]
) -> Resource | None:
    """Return a resource after a change of its rules; ``None`` if it says so already.

    :raises ValueError: the resource is not as its definition says
    """
    rows = _rows(resource)
    new = changed_rows(rows, adding=adding, removing=removing, read=lambda row: _read(row, principal), row_of=_row_of)
    if new == rows:
        return None
    spec = resource.get("spec", {})
    authorization = {"type": "simple", **spec.get("authorization", {}), "acls": new}
    return {**resource, "spec": {**spec, "authorization": authorization}}


def epoch_of(resource: Resource, group: str) -> int:
    """Return the epoch that a group's rules in a resource have; zero if they have none.

    :raises ValueError: the annotation was changed by others
    """
    found = json.loads(resource["metadata"].get("annotations", {}).get(EPOCHS, "{}"))
    epoch = found.get(group, 0) if isinstance(found, dict) else None
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise ValueError(f"its annotation {EPOCHS} is not a JSON object of groups and epochs")
    return epoch


def with_epoch(resource: Resource, group: str, epoch: int) -> Resource:
    """Return a resource with the epoch of a group's rules."""
    metadata = resource["metadata"]
    annotations = metadata.get("annotations", {})
    epochs = {**json.loads(annotations.get(EPOCHS, "{}")), group: epoch}
    return {**resource, "metadata": {**metadata, "annotations": {**annotations, EPOCHS: json.dumps(epochs)}}}


def is_of(resource: Resource, principal: str) -> bool:
    """Return whether a resource is a principal's, as far as Strimzi says whose it is."""
    username = resource.get("status", {}).get("username")
    return username is None or f"User:{username}" == principal


def not_ready(resource: Resource) -> str:
    """Return why Strimzi has not applied a resource as it is now; empty if it has."""
    metadata, status = resource["metadata"], resource.get("status", {})
    name = f"the KafkaUser {metadata['name']}"
    conditions = {each.get("type"): each for each in status.get("conditions", ())}
    ready = conditions.get("Ready", {})
    if status.get("observedGeneration") != metadata.get("generation"):
        return f"{name} is not applied yet (generation {metadata.get('generation')})"
    if ready.get("status") != "True":
        return f"{name} is not ready: {ready.get('reason', 'no reason')}: {ready.get('message', 'no message')}"
    return ""


def _rows(resource: Resource) -> Sequence[Row]:
    authorization = resource.get("spec", {}).get("authorization", {})
    if authorization.get("type", "simple") != "simple":
        raise ValueError(f"its authorization is of the type {authorization['type']!r}, expected simple")
    rows: Sequence[Row] = authorization.get("acls", [])
    return rows


def _read(row: Row, principal: str) -> dict[str, Acl]:
    try:
        resource = row["resource"]
        kind = _RESOURCES[resource["type"]]
        name = _CLUSTER_NAME if kind is ResourceType.CLUSTER else str(resource["name"])
        pattern = _PATTERNS[resource.get("patternType", "literal")]
        permission = AclPermission(str(row.get("type", "allow")).upper())
        words = row["operations"] if "operations" in row else [row["operation"]]
        return {
            word: Acl(kind, name, pattern, principal, _OPERATIONS[word], permission, str(row.get("host", "*")))
            for word in words
            if word in _OPERATIONS
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a rule in its acls cannot be understood ({cause(error)})") from error


def _row_of(same: Sequence[Acl]) -> Row:
    acl = same[0]
    words = {kind: word for word, kind in _RESOURCES.items()}
    patterns = {pattern: word for word, pattern in _PATTERNS.items()}
    named = {} if acl.resource is ResourceType.CLUSTER else {"name": acl.name, "patternType": patterns[acl.pattern]}
    return {
        "type": acl.permission.value.lower(),
        "resource": {"type": words[acl.resource], **named},
        "operations": [_WORDS[each.operation] for each in same],
        "host": acl.host,
    }
