"""Topics that certain clusters alone may hold, as by the law of a country, whatever groups and flows there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.fields import Name, ResourceName, Section
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import covers, reaches

RESIDENCY = "data_residency"


class ResidencySpec(Section):
    """Topics, and the clusters that may hold them."""

    topics: tuple[ResourceName, ...] = Field(default=(), description="topics by their whole name")
    topic_prefixes: tuple[ResourceName, ...] = Field(default=(), description="topics by prefix")
    may_be_held_by: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        description="the clusters that may hold these topics, or copies of them"
    )

    def covers(self, topic: str) -> bool:
        """Return whether a topic is one of these, by the name that applications have for it."""
        return covers(topic, literals=self.topics, prefixes=self.topic_prefixes)


def residency_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield the groups that would copy such a topic to another cluster, and clusters that are not declared."""
    for rule in document.keys(RESIDENCY):
        here: Path = (RESIDENCY, rule)
        for name, path in document.texts(*here, "may_be_held_by"):
            if name not in document.keys("clusters"):
                known = ", ".join(document.keys("clusters"))
                yield document.mistake(path, f"there is no cluster {name!r}", f"name some of {known}")
        for group in document.keys("protection_groups"):
            yield from _of_group(document, here, group)


def _of_group(document: Document, here: Path, group: str) -> Iterator[Mistake]:
    permitted = {name for name, _ in document.texts(*here, "may_be_held_by")}
    path: Path = ("protection_groups", group)
    others = [name for name, _ in document.texts(*path, "clusters") if name not in permitted]
    whole = [name for name, _ in document.texts(*here, "topics")]
    begins = [name for name, _ in document.texts(*here, "topic_prefixes")]
    for key in ("topics", "topic_prefixes") if others else ():
        for name, written in document.texts(*path, key):
            prefix = key == "topic_prefixes"
            named = (each for each in whole if each == name or (prefix and each.startswith(name)))
            if reaches(name, begins, prefix=prefix) or any(named):
                seen = (
                    f"{name!r} would be held by {' and '.join(others)}, which {here[1]} of {RESIDENCY} does not permit"
                )
                todo = f"give these topics a group whose clusters are among {', '.join(sorted(permitted))}"
                yield document.mistake(written, seen, todo)
