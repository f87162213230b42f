"""What must hold within a declaration of active-active use, and between it and the rest of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kafka_dr.topology.active_active import BLOCKS, group_names, groups_of
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake

_GROUPS = "protection_groups"


def with_groups_of_blocks(document: Document) -> Document:
    """Return a document that also has the protection groups of blocks of active-active use.

    What is wrong with them is reported where it is written: in the block.
    """
    if not isinstance(document.root, dict) or not document.keys(BLOCKS):
        return document
    declared = document.at(_GROUPS)
    groups: dict[str, Any] = dict(declared) if isinstance(declared, dict) else {}
    written: dict[Path, Path] = {}
    for block in document.keys(BLOCKS):
        raw = document.at(BLOCKS, block)
        for name, keys, elsewhere in groups_of(block, raw) if isinstance(raw, dict) else ():
            if name in groups:
                continue
            groups[name] = keys
            here = (_GROUPS, name)
            written[here] = (BLOCKS, block)
            written.update({(*here, *key): (BLOCKS, block, *where) for key, where in elsewhere.items()})
    return replace(document, root={**document.root, _GROUPS: groups}, written=written)


def block_of(document: Document, group: str) -> str | None:
    """Return the name of the block that a protection group is a part of; ``None`` if it is declared itself."""
    path = document.written.get((_GROUPS, group))
    return None if path is None else str(path[1])


def active_active_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield what contradicts something else in, or about, a block."""
    for block in document.keys(BLOCKS):
        here: Path = (BLOCKS, block)
        if document.at(*here, "flow", "naming") != "default":
            seen = (
                "members write to topics of the same names, and naming is not default, so a copy would be one of them"
            )
            yield document.mistake((*here, "flow", "naming"), seen, "write naming: default below flow")
        if document.at(*here, "flow", "order") == "copy_first":
            seen = "order is copy_first, and members take writes all the time, so writers cannot wait for readers"
            yield document.mistake((*here, "flow", "order"), seen, "leave it out")
        yield from _read_twice(document, here)
        yield from _moves_with_nobody(document, here)
        for name in group_names(block, document.keys(*here, "members")).values():
            if document.written.get((_GROUPS, name), here)[:2] != here or (_GROUPS, name) in document.lines:
                seen = f"the block means a protection group {name!r}, and there is another one of this name"
                yield document.mistake(here, seen, "rename the block, or the other group")


def _read_twice(document: Document, here: Path) -> Iterator[Mistake]:
    first: dict[str, Path] = {}
    moves = ((name, (*here, "moves", name)) for name in document.keys(*here, "moves"))
    for name, path in (*document.texts(*here, "union"), *document.texts(*here, "local"), *moves):
        if (earlier := first.setdefault(name, path)) != path:
            seen = f"{name!r} is already given in line {document.line(earlier)}"
            yield document.mistake(path, seen, "say once how each consumer group reads")


def _moves_with_nobody(document: Document, here: Path) -> Iterator[Mistake]:
    members = document.keys(*here, "members")
    for group in document.keys(*here, "moves"):
        path = (*here, "moves", group)
        if (whose := document.at(*path)) not in members:
            yield document.mistake(path, f"{whose!r} is no member of the block", f"write one of {', '.join(members)}")
