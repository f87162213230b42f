"""A pipeline that applies access rules, as owners of clusters run one: what no rule names, it removes.

It does what topicctl, Terraform or a script in a CI job does: every few seconds it compares the brokers' ACLs with the
owners' own rules and with the file that the project under test writes. It shares no code with
that project. Only names that begin in a given way are its own, so that one lab serves many tests.

    python -m support.acl_reconciler CONFIG.json

The configuration is a file, as it holds the path of client settings with a password.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

_SECONDS = 10
#: One ACL as a pipeline writes it: kind, name, pattern, principal, host, operation, permission.
Rule = tuple[str, str, str, str, str, str, str]


class Pipeline:
    """Compares rules with the brokers of one cluster, and makes the brokers equal.

    :param settings: of a client that may change ACLs
    :param scope: how the names begin that are compared
    """

    def __init__(self, settings: dict[str, Any], scope: tuple[str, ...]) -> None:
        self._admin = AdminClient({**settings, "log_level": 0})
        self._scope = scope

    def apply(self, wanted: set[Rule]) -> None:
        """Make the brokers have exactly these rules, as far as they are in scope."""
        there = self._there()
        if missing := [_binding(rule) for rule in sorted(wanted - there)]:
            for done in self._admin.create_acls(missing, request_timeout=_SECONDS).values():
                done.result(_SECONDS)
        if surplus := [_filter(rule) for rule in sorted(there - wanted)]:
            for found in self._admin.delete_acls(surplus, request_timeout=_SECONDS).values():
                found.result(_SECONDS)

    def _there(self) -> set[Rule]:
        everything = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        found = self._admin.describe_acls(everything, request_timeout=_SECONDS).result(_SECONDS)
        return {_rule(each) for each in found if each.name.startswith(self._scope)}


def rules_in_file(path: Path) -> set[Rule]:
    """Read the file of rules that the project under test writes; none if it is not there."""
    if not path.exists():
        return set()
    document = json.loads(path.read_text("utf-8"))
    return {
        (
            row["resource_type"],
            row["name"],
            row["pattern"],
            row["principal"],
            row["host"],
            operation.lower(),
            row["permission"].lower(),
        )
        for group in document["groups"].values()
        for row in group["rules"]
        for operation in row["operations"]
    }


def _rule(found: AclBinding) -> Rule:
    return (
        found.restype.name.lower(),
        found.name,
        found.resource_pattern_type.name.lower(),
        found.principal,
        found.host,
        found.operation.name.lower(),
        found.permission_type.name.lower(),
    )


_Parts = tuple[ResourceType, str, ResourcePatternType, str, str, AclOperation, AclPermissionType]


def _parts(rule: Rule) -> _Parts:
    kind, name, pattern, principal, host, operation, permission = rule
    return (
        ResourceType[kind.upper()],
        name,
        ResourcePatternType[pattern.upper()],
        principal,
        host,
        AclOperation[operation.upper()],
        AclPermissionType[permission.upper()],
    )


def _binding(rule: Rule) -> AclBinding:
    return AclBinding(*_parts(rule))


def _filter(rule: Rule) -> AclBindingFilter:
    return AclBindingFilter(*_parts(rule))


def compare(config: dict[str, Any], pipeline: Pipeline) -> None:
    """Compare everything once."""
    own = {tuple(rule) for rule in json.loads(Path(config["own_rules"]).read_text("utf-8"))}
    pipeline.apply(own | (rules_in_file(Path(config["file"])) if config.get("file") else set()))


def main(path: Path) -> None:
    """Reconcile until a signal ends it."""
    config = json.loads(path.read_text("utf-8"))
    pipeline = Pipeline(json.loads(Path(config["settings"]).read_text("utf-8")), tuple(config["scope"]))
    while True:
        compare(config, pipeline)
        Path(config["beats"]).write_text(str(time.monotonic()), "utf-8")
        time.sleep(config["every_seconds"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
