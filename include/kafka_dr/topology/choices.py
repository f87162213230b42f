"""Choices for single consumer groups must be about groups that the protection group owns: others would do nothing.

A reader must not be declared if the protection group moves or fences it: the two exclude each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import covers


def choice_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield every choice for a consumer group that does not belong to the protection group at this path."""
    policy = (*here, "groups_policy")
    named = [(name, (*policy, "start_of", name)) for name in document.keys(*policy, "start_of")]
    named += document.texts(*policy, "left_behind")
    literals = [name for name, _ in document.texts(*here, "consumer_groups")]
    prefixes = [prefix for prefix, _ in document.texts(*here, "consumer_group_prefixes")]
    for name, path in named:
        if not covers(name, literals=literals, prefixes=prefixes):
            seen = f"{name!r} is none of this group's consumer groups, so nothing would come of it"
            yield document.mistake(path, seen, "name one of them, or add it to consumer_groups")


def reader_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield every declared reader of the protection group at this path that it moves, or fences, as its own."""
    readers = (*here, "readers")
    fenced = {name for name, _ in document.texts(*here, "principals")}
    for name, path in document.texts(*readers, "principals"):
        if name in fenced:
            seen = f"{name!r} is among the group's principals, which the fence stops from reading"
            yield document.mistake(path, seen, "name it in one of the two lists")
    literals = [name for name, _ in document.texts(*here, "consumer_groups")]
    prefixes = [prefix for prefix, _ in document.texts(*here, "consumer_group_prefixes")]
    for name, path in document.texts(*readers, "consumer_groups"):
        if covers(name, literals=literals, prefixes=prefixes):
            seen = f"{name!r} is one of this group's consumer groups, which are moved"
            yield document.mistake(path, seen, "name it in one of the two lists")
