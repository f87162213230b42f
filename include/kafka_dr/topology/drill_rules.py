"""What must hold between the keys of a drill and the rest of the topology."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import DRILL_PREFIX

#: Who is named as the approver of a drill's steps that the topology approves; no person may be called so.
NOBODY = "a drill, no person"
_ROLES = ("operator_principal", "probe_principal", "replicator_principal", "audit_principal")


def drill_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what would let a drill touch more than its own, and what could never come true."""
    yield from _names(document, here)
    spec = (*here, "drill")
    if not document.keys(*spec):
        return
    yield from _principal(document, spec)
    yield from _connections(document, here, spec)
    yield from _schedule(document, spec)


def _names(document: Document, here: Path) -> Iterator[Mistake]:
    """Names that belong to drills: the records and approvals of such a group would be taken for a drill's."""
    if str(here[-1]).startswith(DRILL_PREFIX):
        seen = f"names that begin with {DRILL_PREFIX} belong to drills, which remove everything with such a name"
        yield document.mistake(here, seen, "give the group another name")
    for name, path in document.texts(*here, "approvers"):
        if name == NOBODY:
            seen = f"{name!r} is how the approval of a drill is signed that no person gave"
            yield document.mistake(path, seen, "name a user who may approve")


def _principal(document: Document, spec: Path) -> Iterator[Mistake]:
    """A drill fences its principal and takes its rights back: it may be nobody's who works."""
    principal = document.at(*spec, "principal")
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group)
        named: list[tuple[object, str]] = [(name, "principals") for name, _ in document.texts(*here, "principals")]
        named += [(name, "super_users") for name, _ in document.texts(*here, "super_users")]
        named += [(document.at(*here, key), key) for key in _ROLES]
        for key in (key for name, key in named if name == principal):
            seen = f"{principal!r} is also in {key} of group {group!r}"
            yield document.mistake((*spec, "principal"), seen, "give drills a principal of their own")
            return


def _connections(document: Document, here: Path, spec: Path) -> Iterator[Mistake]:
    declared = document.keys(*spec, "connections")
    clusters = [name for name, _ in document.texts(*here, "clusters")]
    roles = {
        document.at("clusters", cluster, "connections", role)
        for cluster in document.keys("clusters")
        for role in document.keys("clusters", cluster, "connections")
    }
    for name in clusters:
        if declared and name not in declared:
            seen = f"there is no connection of the drill's principal on {name!r}"
            yield document.mistake((*spec, "connections"), seen, f"add {name}: and the id of its connection")
    for name in declared:
        path = (*spec, "connections", name)
        if name not in clusters:
            yield document.mistake(path, f"{name!r} is none of the group's clusters", "remove this line")
        elif document.at(*path) in roles:
            seen = f"{document.at(*path)!r} is the connection of a role"
            yield document.mistake(path, seen, "use a connection of the drill's own principal")
    ids = [document.at(*spec, "connections", name) for name in declared]
    if len(set(map(str, ids))) < len(ids):
        seen = "two clusters have the same connection"
        yield document.mistake((*spec, "connections"), seen, "give each cluster a connection of its own")


def _schedule(document: Document, spec: Path) -> Iterator[Mistake]:
    if document.at(*spec, "every_days") is not None and document.at(*spec, "approval") != "automatic":
        seen = "drills begin by themselves, and approval is not automatic, so nobody would approve them"
        yield document.mistake((*spec, "every_days"), seen, "write approval: automatic, or remove this line")
    first: dict[str, Path] = {}
    for kind, path in document.texts(*spec, "kinds"):
        if (earlier := first.setdefault(kind, path)) != path:
            yield document.mistake(path, f"{kind!r} is given twice, in line {document.line(earlier)}", "keep one")
    for window, path in document.texts(*spec, "windows"):
        begin, _, end = window.rpartition(" ")[2].partition("-")
        if len(begin) == len(end) == len("00:00") and not begin < end:
            seen = f"{window!r} ends before it begins"
            yield document.mistake(path, seen, "write two windows if it goes past midnight")
