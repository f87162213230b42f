"""What must hold within a block of clusters that hold copies of each other, and between it and the rest of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.topology.blocks import MEMBERS_OF, alone_names, group_names, groups_of, members_in
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake

_GROUPS = "protection_groups"
_REST = "rest_read_by"
_ALONE, _RUNNING = "moves_alone", "consumer_groups"


def with_groups_of_blocks(document: Document) -> Document:
    """Return a document that also has the protection groups of blocks.

    What is wrong with them is reported where it is written: in the block.
    """
    blocks = _blocks(document)
    if not isinstance(document.root, dict) or not blocks:
        return document
    declared = document.at(_GROUPS)
    groups: dict[str, Any] = dict(declared) if isinstance(declared, dict) else {}
    written: dict[Path, Path] = {}
    for section, block in blocks:
        for name, keys, elsewhere in groups_of(section, block, _keys(document, section, block)):
            if name in groups:
                continue
            groups[name] = keys
            here = (_GROUPS, name)
            written[here] = (section, block)
            written.update({(*here, *key): (section, block, *where) for key, where in elsewhere.items()})
    return replace(document, root={**document.root, _GROUPS: groups}, written=written)


def block_of(document: Document, group: str) -> str | None:
    """Return the name of the block that a protection group is a part of; ``None`` if it is declared itself."""
    path = document.written.get((_GROUPS, group))
    return None if path is None else str(path[1])


def _blocks(document: Document) -> list[tuple[str, str]]:
    return [(section, block) for section in MEMBERS_OF for block in document.keys(section)]


def _keys(document: Document, section: str, block: str) -> dict[str, Any]:
    found = document.at(section, block)
    return found if isinstance(found, dict) else {}


def mistakes_of_blocks(document: Document) -> Iterator[Mistake]:
    """Yield what contradicts something else in, or about, a block."""
    for section, block in _blocks(document):
        here: Path = (section, block)
        keys = _keys(document, section, block)
        if document.at(*here, "flow", "naming") != "default":
            seen = (
                "members write to topics of the same names, and naming is not default, so a copy would be one of them"
            )
            yield document.mistake((*here, "flow", "naming"), seen, "write naming: default below flow")
        if document.at(*here, "flow", "order") == "copy_first":
            seen = "order is copy_first, and members take writes all the time, so writers cannot wait for readers"
            yield document.mistake((*here, "flow", "order"), seen, "leave it out")
        yield from _read_twice(document, here)
        # Of a hub and its spokes, readers run on the hubs.
        kind = MEMBERS_OF[section][-1]
        running = [member for member, (declared, _) in members_in(section, keys).items() if declared == kind]
        yield from _moves_with_nobody(document, here, running)
        yield from _rest_of_nobody(document, here)
        yield from _named_nobody(document, here, running)
        for spoke in document.keys(*here, "spokes"):
            if spoke in document.keys(*here, kind):
                seen = (
                    f"{spoke!r} is a spoke and a hub, and a cluster that takes writes and holds all copies is a member"
                )
                yield document.mistake((*here, "spokes", spoke), seen, "declare it as a member of active_active")
        for name in (*group_names(section, block, keys).values(), *alone_names(block, keys).values()):
            if document.written.get((_GROUPS, name), here)[:2] != here or (_GROUPS, name) in document.lines:
                seen = f"the block means a protection group {name!r}, and there is another one of this name"
                yield document.mistake(here, seen, "rename the block, or the other group")


def _read_twice(document: Document, here: Path) -> Iterator[Mistake]:
    first: dict[str, Path] = {}
    moves = ((name, (*here, "moves", name)) for name in document.keys(*here, "moves"))
    rests = ((str(document.at(*path)), path) for path in ((*here, _REST, g) for g in document.keys(*here, _REST)))
    alone = (each for key in document.keys(*here, _ALONE) for each in document.texts(*here, _ALONE, key, _RUNNING))
    for name, path in (*document.texts(*here, "union"), *document.texts(*here, "local"), *moves, *rests, *alone):
        if (earlier := first.setdefault(name, path)) != path:
            seen = f"{name!r} is already given in line {document.line(earlier)}"
            yield document.mistake(path, seen, "say once how each consumer group reads")


def _moves_with_nobody(document: Document, here: Path, members: Sequence[str]) -> Iterator[Mistake]:
    for group in document.keys(*here, "moves"):
        path = (*here, "moves", group)
        if isinstance(whose := document.at(*path), str) and whose not in members:
            seen = f"{whose!r} is no cluster of the block on which its readers run"
            yield document.mistake(path, seen, f"write one of {', '.join(members)}")


def _rest_of_nobody(document: Document, here: Path) -> Iterator[Mistake]:
    local = [name for name, _ in document.texts(*here, "local")]
    for group in document.keys(*here, _REST):
        if group not in local:
            seen = f"{group!r} is not among the groups that read on each member what is written there alone"
            yield document.mistake((*here, _REST, group), seen, "name a group of local")


def _named_nobody(document: Document, here: Path, members: Sequence[str]) -> Iterator[Mistake]:
    """Yield what is wrong with how conflicts are judged, and with what says which member owns or wrote a record."""
    path: Path = (*here, "conflicts", "ownership")
    if document.at(*path) == {}:
        seen = "no rule says who owns a record"
        yield document.mistake(path, seen, "write by_header, by_key_prefix, by_partition or by_hash, or leave it out")
    by_name: tuple[Path, ...] = ((*path, "by_key_prefix"), (*here, "conflicts", "provenance", "names"))
    keys: list[Path] = [(*section, key) for section in by_name for key in document.keys(*section)]
    if document.at(*here, "conflicts", "strategy") == "custom" and document.at(*here, "conflicts", "custom") is None:
        seen = "custom decides, and no function is named"
        yield document.mistake((*here, "conflicts", "strategy"), seen, "write custom: MODULE:NAME below conflicts")
    lists = ((*path, "by_partition"), (*path, "by_hash", "slots"), (*here, "conflicts", "priority"))
    listed = [each for section in lists for each in document.texts(*section)]
    for name, at in (*((document.at(*key), key) for key in keys), *listed):
        if name not in members:
            yield document.mistake(at, f"{name!r} is no member of the block", f"write one of {', '.join(members)}")
