"""What must hold between the keys of existing replication and the rest of the topology."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake

#: Which keys only some kinds of replicator read.
_READ_BY = {
    "connect": ("mirrormaker_connect", "confluent_replicator"),
    "connectors": ("mirrormaker_connect", "confluent_replicator"),
    "kubernetes": ("strimzi",),
    "namespace": ("strimzi",),
    "resource": ("strimzi",),
    "source_alias": ("mirrormaker", "strimzi"),
    "offsets_topic": ("mirrormaker",),
    "stop_command": ("mirrormaker", "external"),
    "start_command": ("mirrormaker", "external"),
}
#: Which keys a kind cannot do without, and why.
_NEEDED = {
    "mirrormaker_connect": {
        "connect": "add the connection id of its Connect workers",
        "connectors": "name its connectors",
    },
    "mirrormaker": {"source_alias": "add the alias of the active cluster in its settings"},
    "strimzi": {
        "kubernetes": "add the connection id of the Kubernetes API",
        "namespace": "add the namespace of the KafkaMirrorMaker2",
        "resource": "add the name of the KafkaMirrorMaker2",
        "source_alias": "add the alias of the active cluster in the resource",
    },
    "confluent_replicator": {
        "connect": "add the connection id of its Connect workers",
        "connectors": "name its connector",
    },
}
#: A take over denies the principal of the existing replication. Each of these has to work afterwards.
_ROLES = ("replicator_principal", "operator_principal", "probe_principal", "audit_principal")


def existing_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what contradicts itself in the existing replication of the protection group at this path."""
    spec = (*here, "existing_replication")
    given = document.keys(*spec)
    if not given:
        return
    kind = document.at(*spec, "replicator")
    if isinstance(kind, str):
        yield from _keys(document, spec, kind)
    if kind == "confluent_replicator" and len(document.texts(*spec, "connectors")) > 1:
        seen = "several connectors are given with confluent_replicator, which is one"
        yield document.mistake((*spec, "connectors"), seen, "name the one that copies the group's topics")
    yield from _alias(document, here, spec)
    yield from _principal(document, here, spec)


def _alias(document: Document, here: Path, spec: Path) -> Iterator[Mistake]:
    """An alias is a part of the names of copies, where these begin with that of a cluster."""
    alias, active = document.at(*spec, "source_alias"), document.at(*here, "initial_active")
    if document.at(*here, "flow", "naming") == "default" and alias is not None and alias != active:
        seen = f"source_alias is {alias!r}, so its copies begin with that, and naming is default, by which they begin "
        seen += f"with {active!r}"
        yield document.mistake((*spec, "source_alias"), seen, "declare the cluster under the name of its alias")


def _keys(document: Document, spec: Path, kind: str) -> Iterator[Mistake]:
    given = document.keys(*spec)
    for key, readers in _READ_BY.items():
        if key in given and document.at(*spec, key) and kind not in readers:
            seen = f"{key} is given with {kind}, which does not use it"
            yield document.mistake((*spec, key), seen, f"remove it, or write replicator: {readers[0]}")
    for key, expected in _NEEDED.get(kind, {}).items():
        if not document.at(*spec, key):
            yield document.mistake((*spec, key), f"{kind} is given without {key}", expected)
    if document.at(*spec, "start_command") is not None and document.at(*spec, "stop_command") is None:
        seen = "start_command is given without stop_command, so nothing that runs would ever be started"
        yield document.mistake((*spec, "start_command"), seen, "add stop_command, or remove this line")


def _principal(document: Document, here: Path, spec: Path) -> Iterator[Mistake]:
    """A take over denies this principal: nobody else may work as it, and no ACL stops a super user."""
    path = (*spec, "principal")
    principal = document.at(*path)
    # Exactly-once connectors can be stopped for good without a DENY: their transactional ids are taken over.
    own = document.at(*spec, "replicator") == "mirrormaker_connect" and principal == document.at(*here, _ROLES[0])
    for group in document.keys("protection_groups"):
        other = ("protection_groups", group)
        named = [(document.at(*other, key), key) for key in _ROLES]
        named += [(name, "principals") for name, _ in document.texts(*other, "principals")]
        named.append((document.at(*other, "drill", "principal"), "drill.principal"))
        if own:
            named = [(name, key) for name, key in named if key != "replicator_principal"]
        for key in (key for name, key in named if isinstance(principal, str) and name == principal):
            seen = f"{principal!r} is also used by {key} of {group!r}; the take over would stop that as well"
            yield document.mistake(path, seen, "let the existing replication write as a principal of its own")
            return
    if principal in {name for name, _ in document.texts(*here, "super_users")}:
        seen = f"{principal!r} is a super user, which no ACL can stop from writing"
        yield document.mistake(path, seen, "let the existing replication write as a principal without super rights")
