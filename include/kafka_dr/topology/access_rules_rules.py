"""What must hold between the keys that say where access rules are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.document import Document, Path, render
from kafka_dr.topology.mistakes import Mistake

#: Which keys only some kinds read.
_READ_BY: Mapping[str, tuple[str, ...]] = {
    "path": ("file",),
    "apply": ("file",),
    "connection": ("kafka_user",),
    "namespace": ("kafka_user",),
    "api_version": ("kafka_user",),
    "users": ("kafka_user",),
    "program": ("command",),
    "principal_connections": ("command",),
    "applied_within_seconds": ("file", "kafka_user", "command"),
    "reconciles_every_seconds": ("file", "kafka_user"),
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "file": ("path", "reconciles_every_seconds"),
    "kafka_user": ("connection", "namespace", "reconciles_every_seconds"),
    "command": ("program",),
}
_ROLES = ("operator", "probe", "audit", "replicator")


def access_rules_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield what a kind does not read, what it lacks, and connections that would prove nothing."""
    for cluster in document.keys("clusters"):
        here: Path = ("clusters", cluster, "access_rules")
        if not document.keys(*here):
            continue
        yield from _keys(document, here)
        yield from _programs(document, here)
        yield from _principals(document, here)
    yield from _shared_files(document)


def _keys(document: Document, here: Path) -> Iterator[Mistake]:
    kind = document.at(*here, "kept_by") or "broker"
    if not isinstance(kind, str) or (kind != "broker" and kind not in _NEEDED):
        return  # reported as a wrong value already
    for key, readers in _READ_BY.items():
        # A program that writes a topology may write every key, with the values that they have anyway.
        if document.at(*here, key) not in (None, [], {}, _default(key)) and kind not in readers:
            seen = f"{key} is given with kept_by: {kind}, which does not use it"
            yield document.mistake((*here, key), seen, f"remove it, or write kept_by: {readers[0]}")
    for key in _NEEDED.get(kind, ()):
        if not document.at(*here, key):
            yield document.mistake(here, f"kept_by is {kind}, and {key} is missing", f"add {key}")


def _default(key: str) -> object:
    return AccessRulesSpec.model_fields[key].default


def _programs(document: Document, here: Path) -> Iterator[Mistake]:
    """A name without a path would be looked up in PATH, which differs between workers."""
    for key in ("apply", "program"):
        first = next(iter(document.texts(*here, key)), None)
        if first and not first[0].startswith("/"):
            yield document.mistake(
                first[1], f"{first[0]!r} is not an absolute path", "write the whole path of the program"
            )


def _principals(document: Document, here: Path) -> Iterator[Mistake]:
    applications = {
        name
        for group in document.keys("protection_groups")
        for name, _ in document.texts("protection_groups", group, "principals")
    }
    roles = {
        document.at("clusters", name, "connections", role) for name in document.keys("clusters") for role in _ROLES
    }
    first: dict[object, str] = {}
    for principal in document.keys(*here, "principal_connections"):
        path = (*here, "principal_connections", principal)
        connection = document.at(*path)
        if principal not in applications:
            seen = f"{principal!r} is among the principals of no protection group"
            yield document.mistake(path, seen, "name an application of a group, or remove this line")
        if connection in roles:
            seen = f"{connection!r} is the connection of a role, so its refusal says nothing about {principal}"
            yield document.mistake(path, seen, "use a connection with that principal's own credential")
        elif (other := first.setdefault(connection, principal)) != principal:
            seen = f"{connection!r} is also the connection of {other!r}"
            yield document.mistake(path, seen, "use a connection with each principal's own credential")


def _shared_files(document: Document) -> Iterator[Mistake]:
    first: dict[object, Path] = {}
    for cluster in document.keys("clusters"):
        path: Path = ("clusters", cluster, "access_rules", "path")
        value = document.at(*path)
        if isinstance(value, str) and (earlier := first.setdefault(value, path)) != path:
            seen = f"{value!r} is already given at {render(earlier)} (line {document.line(earlier)})"
            yield document.mistake(path, seen, "give each cluster a file of its own")
