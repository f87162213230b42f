"""Rights as access rules are kept: commands, KafkaUser resources of Strimzi, Terraform, a table for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from kafka_dr.access_rules.kafka_user import user_name, with_rules
from kafka_dr.clusters.model import Acl, ResourceType
from kafka_dr.clusters.tool_access import ADMIN_FILE, ToolAccess
from kafka_dr.command_line.kafka_tools import add_allows, tool_word
from kafka_dr.rights import NeededRight
from kafka_dr.topology.cluster import ClusterSpec

Rights = tuple[NeededRight, ...]


def markdown(_name: str, _spec: ClusterSpec, rights: Rights) -> str:
    """Return a table for people, which says what each right is for."""
    lines = ["| principal | on | may | why |", "| --- | --- | --- | --- |"]
    for each in rights:
        where = "the cluster" if each.resource is ResourceType.CLUSTER else f"{each.kind} `{each.shown}`"
        may = ", ".join(operation.value for operation in each.operations)
        lines.append(f"| `{each.principal.removeprefix('User:')}` | {where} | {may} | {each.reason} |")
    return "\n".join(lines)


def kafka_acls(name: str, spec: ClusterSpec, rights: Rights) -> str:
    """Return the commands of ``kafka-acls.sh`` that grant the rights."""
    return "\n".join(add_allows(ToolAccess(name, spec.route_bootstrap_servers, ADMIN_FILE), _acls(rights)))


def strimzi(_name: str, spec: ClusterSpec, rights: Rights) -> str:
    """Return the KafkaUser resources of Strimzi, as ``kubectl apply -f -`` takes them.

    How a user logs in is left as the resource says; a new resource needs ``spec.authentication``, too.
    """
    items = []
    for principal in dict.fromkeys(each.principal for each in rights):
        name = user_name(principal, spec.access_rules.users)
        own = frozenset().union(*(each.acls for each in rights if each.principal == principal))
        empty = {
            "apiVersion": f"kafka.strimzi.io/{spec.access_rules.api_version}",
            "kind": "KafkaUser",
            "metadata": {"name": name, **_labels(spec)},
        }
        items.append(with_rules(empty, principal, adding=own, removing=frozenset()))
    return _shown({"apiVersion": "v1", "kind": "List", "items": items})


def terraform(name: str, _spec: ClusterSpec, rights: Rights) -> str:
    """Return resources of the Terraform provider ``Mongey/kafka``, for a file ``….tf.json``."""

    def resource(acl: Acl) -> dict[str, str]:
        return {
            "resource_name": _literal(acl.name),
            # The provider's words are those of Kafka's tools, but for this one.
            "resource_type": tool_word(acl.resource).replace("TransactionalId", "TransactionalID"),
            "resource_pattern_type_filter": acl.pattern.value.capitalize(),
            "acl_principal": _literal(acl.principal),
            "acl_host": acl.host,
            "acl_operation": tool_word(acl.operation),
            "acl_permission_type": "Allow",
        }

    return _shown({"resource": {"kafka_acl": _resources(name, rights, resource)}})


def confluent_terraform(name: str, _spec: ClusterSpec, rights: Rights) -> str:
    """Return resources of the Terraform provider ``confluentinc/confluent``, for a file ``….tf.json``.

    The cluster, its endpoint and the login come from the provider's own settings.
    """

    def resource(acl: Acl) -> dict[str, str]:
        return {
            "resource_type": acl.resource.value.upper(),
            "resource_name": _literal(acl.name),
            "pattern_type": acl.pattern.value.upper(),
            "principal": _literal(acl.principal),
            "host": acl.host,
            "operation": acl.operation.value,
            "permission": "ALLOW",
        }

    return _shown({"resource": {"confluent_kafka_acl": _resources(name, rights, resource)}})


def as_json(name: str, _spec: ClusterSpec, rights: Rights) -> str:
    """Return one JSON object for programs."""
    rows = [
        {
            "principal": each.principal,
            "resource": each.resource.value,
            "name": each.name,
            "pattern": each.pattern.value,
            "operations": [operation.value for operation in each.operations],
            "reason": each.reason,
        }
        for each in rights
    ]
    return _shown({"cluster": name, "rights": rows})


def _acls(rights: Iterable[NeededRight]) -> frozenset[Acl]:
    return frozenset[Acl]().union(*(each.acls for each in rights))


def _resources(name: str, rights: Rights, resource: Callable[[Acl], dict[str, str]]) -> dict[str, dict[str, str]]:
    return {_identifier(name, acl): resource(acl) for acl in sorted(_acls(rights), key=str)}


def _labels(spec: ClusterSpec) -> dict[str, Any]:
    return {"namespace": spec.access_rules.namespace} if spec.access_rules.namespace else {}


def _identifier(cluster: str, acl: Acl) -> str:
    """Return a name that stays when other rights change: Terraform would remove and add a right that is renamed."""
    readable = f"{cluster}_{acl.principal.removeprefix('User:')}_{acl.operation}_{acl.resource}_{acl.name}"
    bare = "".join(each if each.isalnum() and each.isascii() else "_" for each in readable)
    return f"kafka_dr_{bare}_{sha256(f'{cluster} {acl}'.encode()).hexdigest()[:8]}"


def _literal(text: str) -> str:
    """Return a text as Terraform takes it literally: it would fill in what is in ``${…}`` and ``%{…}``."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _shown(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)
