"""What one cluster's configuration looks like to a protection group, as plain values. No client is imported here.

Whatever could not be read is in :attr:`Snapshot.unknown` with the reason: it is never taken for absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters.configuration import ConfigValue, QuotaEntity, ScramUser, TopicLayout
from kafka_dr.clusters.model import Acl

#: What can be unknown in addition to single topics.
TOPICS, ACLS, QUOTAS, USERS, GROUPS = "topics", "ACLs", "client quotas", "SCRAM users", "consumer groups"
#: Settings of brokers that applications meet.
BROKERS = "settings of the brokers"
#: Without them nobody knows of topics that are hidden from the operator.
NAMES = "topics that the audit sees"

#: How the key of a topic in :attr:`Snapshot.unknown` begins.
TOPIC_PREFIX = "topic "


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic: its layout, and every configuration by its effective value and where that comes from."""

    layout: TopicLayout
    configs: Mapping[str, ConfigValue]

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.layout.name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One cluster of a comparison.

    :param cluster: the name in the topology
    :param cluster_id: the id that the cluster itself reported
    :param brokers: how many brokers there are
    :param topics: the protection group's topics by name
    :param inherited: what a topic gets that sets nothing itself, by key; empty where that could not be learned
    :param own_topics: this project's own topics that exist, among them the register's
    :param acls: every ACL of the cluster, other than those that this project added
    :param fence: the ACLs that this project added, by the register
    :param rules_in: where its access rules are kept, if not on its brokers: they are not changed here
    :param acls_decide: whether its ACLs decide who may do what
    :param open_to_all: whether everybody may do what no ACL is about, as the topology says
    :param quotas: limit by entity and key
    :param met: settings of the brokers that applications meet, by key
    :param groups: the protection group's consumer groups that exist
    :param unknown: what could not be read, and why: a section, or ``topic <name>``
    """

    cluster: str
    cluster_id: str
    brokers: int
    topics: Mapping[str, TopicConfig] = field(default_factory=dict)
    inherited: Mapping[str, ConfigValue] = field(default_factory=dict)
    own_topics: frozenset[str] = frozenset()
    acls: frozenset[Acl] = frozenset()
    fence: frozenset[Acl] = frozenset()
    rules_in: str = ""
    acls_decide: bool = True
    open_to_all: bool = False
    quotas: Mapping[tuple[QuotaEntity, str], float] = field(default_factory=dict)
    users: frozenset[ScramUser] = frozenset()
    met: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    unknown: Mapping[str, str] = field(default_factory=dict)

    def unreadable_topics(self) -> dict[str, str]:
        """Return the topics that could not be read, with the reason."""
        return {
            name.removeprefix(TOPIC_PREFIX): reason
            for name, reason in self.unknown.items()
            if name.startswith(TOPIC_PREFIX)
        }
