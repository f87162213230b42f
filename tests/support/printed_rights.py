"""What the printed commands of ``kafka-acls.sh`` grant, read by the words of its options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import pairwise, product

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType

#: Operations as Kafka's tools and Terraform write them.
OPERATIONS = {"".join(part.capitalize() for part in each.value.split("_")): each for each in AclOperation}


def allow(resource: str, name: str, pattern: str, principal: str, operation: AclOperation) -> Acl:
    """Return a right by the words for it."""
    kind = ResourceType(resource.lower())
    return Acl(kind, name, PatternType(pattern.lower()), principal, operation, AclPermission.ALLOW)


def granted_by(commands: Iterable[str]) -> frozenset[Acl]:
    """Return the rights that lines of a shell add."""
    found: set[Acl] = set()
    for command in commands:
        words = shlex.split(command)
        assert words[:2] == ["kafka-acls.sh", "--bootstrap-server"], command
        options = [(option, value) for option, value in pairwise(words) if option.startswith("--")]
        values = {name: [value for option, value in options if option == name] for name, _ in options}
        names = [
            (option.strip("-").replace("-", "_"), value)
            for option in ("--topic", "--group", "--transactional-id")
            for value in values.get(option, ())
        ] or [("cluster", "kafka-cluster")]
        for principal, operation, (kind, name) in product(values["--allow-principal"], values["--operation"], names):
            found.add(allow(kind, name, values["--resource-pattern-type"][0], principal, OPERATIONS[operation]))
    return frozenset(found)
