"""A flow: the copying of one protection group from one cluster to another."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafka_dr.errors import KafkaDrError, Refused

#: The name ends up in REST paths and in transactional ids, and must be the same in both without escaping.
_SAFE = re.compile(r"[A-Za-z0-9_-]+")


class FlowNotFound(KafkaDrError):
    """There is no such flow."""


@dataclass(frozen=True, slots=True, order=True)
class Flow:
    """Replication of a protection group's topics, from the active cluster to a standby.

    :param group: the protection group
    :param source: the cluster that is read
    :param target: the cluster that is written; what replicates runs next to it
    """

    group: str
    source: str
    target: str

    def __post_init__(self) -> None:
        for name in (self.group, self.source, self.target):
            if not _SAFE.fullmatch(name):
                raise Refused(f"a flow was named with {name!r}: use letters, digits, _ and - in names")
        if self.source == self.target:
            raise Refused(f"a flow of {self.group} was to go from {self.source} to itself: name two clusters")

    @property
    def name(self) -> str:
        """The name under which people find it where replicators run, and in every sentence about it."""
        return f"dr.{self.group}.{self.source}-to-{self.target}"

    def __str__(self) -> str:
        return f"{self.group}: {self.source} → {self.target}"
