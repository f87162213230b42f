"""The topics that patterns match: looked up on the clusters that answer, and remembered, so that no set gets smaller.

ACLs and replication name these topics one by one. So a topic counts from when it is first seen on either cluster; and
one that was fenced before counts for ever, whether or not the cluster that holds it answers: the DENYs that were added
for it are in the registers. A name that another protection group owns as well is left out, unless it was fenced for
this group before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from threading import Lock

from kafka_dr.clusters import Acl, PatternType, ResourceType
from kafka_dr.topology.model import ProtectionGroup


@dataclass(frozen=True, slots=True)
class SeenTopics:
    """What one cluster shows of the topics that a group's patterns match.

    :param existing: the names that exist there
    :param fenced: the names for which this project has added DENYs there
    """

    existing: frozenset[str]
    fenced: frozenset[str]

    @classmethod
    def of(cls, group: ProtectionGroup, names: Iterable[str], added: Iterable[Acl]) -> SeenTopics:
        """Return what the topics of a cluster, and the DENYs that were added there, show. Pure.

        :param names: every topic of the cluster
        :param added: as its register lists them
        """
        literal = (acl.name for acl in added if acl.resource is ResourceType.TOPIC and _is_literal(acl))
        return cls(_matching(group, names), _matching(group, literal))


@dataclass(frozen=True, slots=True)
class Contested:
    """A topic that a pattern of one group matches, and that another group owns as well."""

    topic: str
    other: str

    def __str__(self) -> str:
        return f"{self.topic}, which belongs to the protection group {self.other}, too"


class KnownTopics:
    """What a process knows of the topics that patterns match; it only grows. Used by several threads."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}
        self._resolved: dict[str, ProtectionGroup] = {}
        self._lock = Lock()

    def of(self, declared: ProtectionGroup) -> ProtectionGroup:
        """Return a group with the topics that its patterns are known to match; as it is declared if nobody looked."""
        with self._lock:
            return self._resolved.get(declared.name, declared)

    def learn(self, declared: ProtectionGroup, seen: Iterable[SeenTopics], others: Collection[ProtectionGroup]) -> None:
        """Add what clusters show.

        :param others: the other protection groups of the topology
        """
        looked = tuple(seen)
        fenced = frozenset().union(*(each.fenced for each in looked))
        found = frozenset().union(*(each.existing for each in looked))
        disputed = {each.topic for each in contested(found - fenced, others)}
        with self._lock:
            names = self._names.get(declared.name, frozenset()) | fenced | (found - disputed)
            if self._names.get(declared.name) != names:
                self._names[declared.name] = names
                self._resolved[declared.name] = declared.with_matched(names)


def contested(names: Iterable[str], others: Collection[ProtectionGroup]) -> tuple[Contested, ...]:
    """Return the topics that another group owns, too, sorted. Pure.

    :param names: that patterns of one group match
    :param others: the other protection groups of the topology
    """
    return tuple(Contested(name, other.name) for name in sorted(names) for other in others if other.owns_topic(name))


def _matching(group: ProtectionGroup, names: Iterable[str]) -> frozenset[str]:
    return frozenset(group.with_matched(names).matched_topics)


def _is_literal(acl: Acl) -> bool:
    return acl.pattern is PatternType.LITERAL
