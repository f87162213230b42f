"""Choices for single consumer groups must be about groups that the protection group owns: others would do nothing."""

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
