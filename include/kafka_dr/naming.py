"""What the copy of a topic is called on the target, and back. Pure.

A replicator gives copies names by a rule. Whoever compares two clusters asks a :class:`Naming` and knows no rule. Both
ways belong together: of every topic that has a copy, the copy has that original, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

#: MirrorMaker names the topics of its heartbeats by the alias of their cluster, whatever its policy is.
_HEARTBEATS = "heartbeats"
_DEFAULT_SEPARATOR = "."


class Naming(Protocol):
    """What copies are called."""

    @property
    def checkpoints_topic(self) -> str | None:
        """The topic on the target in which MirrorMaker keeps checkpoints; ``None`` if the naming does not say."""
        ...

    def copy_of(self, topic: str) -> str | None:
        """Return what the copy of a topic of the source is called; ``None`` if it is never copied."""
        ...

    def original_of(self, topic: str) -> str | None:
        """Return of which topic of the source a topic of the target is the copy; ``None`` if it is none."""
        ...


@dataclass(frozen=True, slots=True)
class DefaultNaming:
    """MirrorMaker's ``DefaultReplicationPolicy``: the alias of the source, a separator, the name.

    A topic that came from the target before is never copied back to it: ``west.orders`` on east has no copy on west.

    :param source: the source's alias
    :param target: the target's alias; empty if it is not known, and then nothing shows what would go in a circle
    """

    source: str
    target: str = ""
    separator: str = _DEFAULT_SEPARATOR

    @property
    def checkpoints_topic(self) -> str | None:
        """``<alias>.checkpoints.internal``, with the separator of the policy."""
        return _checkpoints_topic(self.source, self.separator)

    def copy_of(self, topic: str) -> str | None:
        """Return the name with the source's alias before it."""
        if is_kept_back(topic, self.separator) or _goes_in_a_circle(topic, self.target, self.separator):
            return None
        return f"{self.source}{self.separator}{topic}"

    def original_of(self, topic: str) -> str | None:
        """Return the name without the source's alias."""
        return _checked_original(self, topic, _without(topic, f"{self.source}{self.separator}", ""))


@dataclass(frozen=True, slots=True)
class IdentityNaming:
    """MirrorMaker's ``IdentityReplicationPolicy``, and most other replicators: a copy has the name of its original.

    :param source: the source's alias; empty if there is none, and then heartbeats have no copy
    :param target: the target's alias; it counts for heartbeats alone
    """

    source: str = ""
    target: str = ""
    separator: str = _DEFAULT_SEPARATOR

    @property
    def checkpoints_topic(self) -> str | None:
        """``<alias>.checkpoints.internal``, with the separator of the policy."""
        return _checkpoints_topic(self.source, self.separator) if self.source else None

    def copy_of(self, topic: str) -> str | None:
        """Return the same name; with the source's alias before it if MirrorMaker takes it for a heartbeat."""
        if is_kept_back(topic, self.separator):
            return None
        if not topic.endswith(_HEARTBEATS):
            return topic
        circles = not self.source or _goes_in_a_circle(topic, self.target, self.separator)
        return None if circles else f"{self.source}{self.separator}{topic}"

    def original_of(self, topic: str) -> str | None:
        """Return the same name; without the source's alias if MirrorMaker takes it for a heartbeat."""
        heartbeat = topic.endswith(_HEARTBEATS)
        found = _without(topic, f"{self.source}{self.separator}", "") if heartbeat else topic
        return _checked_original(self, topic, found)


@dataclass(frozen=True, slots=True)
class AffixNaming:
    """A prefix, a suffix, or both, of the replicator's own."""

    prefix: str = ""
    suffix: str = ""

    @property
    def checkpoints_topic(self) -> str | None:
        """Not known."""
        return None

    def copy_of(self, topic: str) -> str | None:
        """Return the name between prefix and suffix."""
        return f"{self.prefix}{topic}{self.suffix}"

    def original_of(self, topic: str) -> str | None:
        """Return the name without prefix and suffix."""
        return _without(topic, self.prefix, self.suffix)


@dataclass(frozen=True)
class TableNaming:
    """A table: each topic that is copied, and what its copy is called.

    :param copies: by topic of the source
    :raises ValueError: two topics have the same copy
    """

    copies: Mapping[str, str]

    def __post_init__(self) -> None:
        if twice := same_twice(self.copies.values()):
            raise ValueError(f"two topics have the same copy: {', '.join(sorted(twice))}")

    @cached_property
    def _originals(self) -> dict[str, str]:
        return {copy: topic for topic, copy in self.copies.items()}

    @property
    def checkpoints_topic(self) -> str | None:
        """Not known."""
        return None

    def copy_of(self, topic: str) -> str | None:
        """Look the copy up."""
        return self.copies.get(topic)

    def original_of(self, topic: str) -> str | None:
        """Look the original up."""
        return self._originals.get(topic)


def is_kept_back(topic: str, separator: str = _DEFAULT_SEPARATOR) -> bool:
    """Return whether a topic is Kafka's or MirrorMaker's own, and MirrorMaker never copies it (since Kafka 4.0)."""
    own = topic.startswith("mm2") and topic.endswith(f"{separator}internal")
    return topic.startswith(("__", ".")) or own or topic.endswith(f"{separator}checkpoints{separator}internal")


def same_twice(names: Iterable[str]) -> set[str]:
    """Return the names that occur more than once."""
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value]


def _checkpoints_topic(alias: str, separator: str) -> str:
    return f"{alias}{separator}checkpoints{separator}internal"


def _goes_in_a_circle(topic: str, target: str, separator: str) -> bool:
    """Follow the aliases before a name as MirrorMaker does: any text before a separator counts as one.

    :param target: the target's alias; nothing goes in a circle if it is empty
    """
    while target:
        alias, found, rest = topic.partition(separator)
        # Java's split drops what is empty at the end, so a name that ends there has no alias.
        if not found or not rest.replace(separator, ""):
            return False
        if alias == target:
            return True
        topic = rest
    return False


def _without(topic: str, prefix: str, suffix: str) -> str | None:
    """Return what is left of a name without prefix and suffix; ``None`` if it has not both, or nothing is left."""
    fits = len(topic) > len(prefix) + len(suffix) and topic.startswith(prefix) and topic.endswith(suffix)
    return topic[len(prefix) : len(topic) - len(suffix)] if fits else None


def _checked_original(naming: Naming, topic: str, found: str | None) -> str | None:
    """Return a name that was found, if its copy really has the other name."""
    return found if found is not None and naming.copy_of(found) == topic else None
