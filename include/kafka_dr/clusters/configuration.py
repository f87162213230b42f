"""The values that a cluster's configuration consists of. No client library is imported in this module."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """Where an effective value was set, the most specific first."""

    TOPIC = "topic"
    BROKER = "dynamic broker setting"
    CLUSTER = "dynamic cluster default"
    STATIC = "static broker setting"
    DEFAULT = "Kafka's default"
    OTHER = "another source"

    @property
    def explicit(self) -> bool:
        """Whether the topic itself sets the value; every other value is inherited."""
        return self is Origin.TOPIC


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """An effective value, and where it was set.

    :param value: as text; ``None`` if the broker hides it
    """

    value: str | None
    origin: Origin

    def __str__(self) -> str:
        shown = "hidden by the broker" if self.value is None else self.value or '""'
        return shown if self.origin.explicit else f"{shown} (inherited: {self.origin})"


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """A topic's partitions and replicas.

    :param replication_factor: the fewest replicas that any of its partitions has
    """

    name: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """The clients that a quota limits: each part is a name, ``""`` for the default of that kind, or ``None``.

    :param user: without ``User:``
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        parts = (("user", self.user), ("client id", self.client_id), ("ip", self.ip))
        return ", ".join(f"{kind} {name or '(default)'}" for kind, name in parts if name is not None)


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A user that can log in by SCRAM. Its password is stored salted: nobody can read or copy it."""

    name: str
    mechanism: str
