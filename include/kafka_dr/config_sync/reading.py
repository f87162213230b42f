"""Read both clusters, at the same time. Each is asked about ten times, however many topics and ACLs there are.

What one request may not see is unknown, with the reason; the other requests continue. The brokers do not list a topic
that is hidden from the operator: hence the audit's principal is asked which topics there are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from kafka_dr.clusters import Acl, KafkaCluster
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.configuration import ConfigValue, QuotaEntity, ScramUser
from kafka_dr.clusters.errors import NotFound
from kafka_dr.config_sync.brokers import met_by_applications
from kafka_dr.config_sync.snapshot import (
    ACLS,
    BROKERS,
    GROUPS,
    NAMES,
    QUOTAS,
    TOPIC_PREFIX,
    TOPICS,
    USERS,
    Snapshot,
    TopicConfig,
)
from kafka_dr.errors import KafkaDrError, Unanswered
from kafka_dr.fencing.register_writers import OWN_TOPICS
from kafka_dr.parallel import ask_all, ask_each, at_once
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.topology.model import ProtectionGroup

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ComparedCluster:
    """A cluster to be read.

    :param cluster: reached as the operator
    :param fence: the ACLs that this project added on it, by the register
    :param acls: reads every ACL
    :param seen_by_audit: asks as the audit's principal for the names of the topics
    :param rules_in: where its access rules are kept, if not on its brokers
    :param acls_decide: whether its ACLs decide who may do what; if not, they are not read
    :param open_to_all: whether the brokers let everybody do what no ACL is about
    """

    cluster: KafkaCluster
    fence: frozenset[Acl]
    acls: Callable[[], frozenset[Acl]]
    seen_by_audit: Callable[[], Collection[str]]
    rules_in: str = ""
    acls_decide: bool = True
    open_to_all: bool = False


def read_clusters(
    active: ComparedCluster, standby: ComparedCluster, group: ProtectionGroup
) -> tuple[Snapshot, Snapshot]:
    """Read two clusters at the same time, as far as a protection group is concerned.

    :raises ClusterUnreachable: a cluster does not answer at all
    """
    clusters = (active, standby)
    topics, others = at_once(lambda: _read_topics(clusters, group), lambda: ask_all(_read_others, clusters))
    first, second = (
        _snapshot(compared, read, others[compared], group) for compared, read in zip(clusters, topics, strict=True)
    )
    return first, second


@dataclass(frozen=True, slots=True)
class _TopicsRead:
    """What was read of the topics of one cluster; a part that could not be read is its error.

    :param names: the topics that both clusters were asked about
    :param seen_by_audit: which topics the audit sees
    """

    names: Collection[str]
    overview: Overview
    described: Described | KafkaDrError
    seen_by_audit: Collection[str] | KafkaDrError


def _read_topics(clusters: Sequence[ComparedCluster], group: ProtectionGroup) -> list[_TopicsRead]:
    """Ask both clusters about each name: a missing topic and a hidden one have different answers."""
    overviews, seen = at_once(
        lambda: ask_all(lambda compared: compared.cluster.configs.overview(), clusters),
        lambda: ask_each(lambda compared: compared.seen_by_audit(), clusters),
    )
    listed = [
        *(each.topics for each in overviews.values()),
        *(s for s in seen.values() if not isinstance(s, KafkaDrError)),
    ]
    names = (
        {name for each in listed for name in each if group.owns_topic(name)} | set(group.topics) | {group.canary_topic}
    )
    described = ask_each(lambda compared: compared.cluster.configs.describe(names), clusters)
    return [_TopicsRead(names, overviews[compared], described[compared], seen[compared]) for compared in clusters]


@dataclass(frozen=True, slots=True)
class _OthersRead:
    """What was read in addition to the topics; a part that could not be read is its error."""

    acls: frozenset[Acl] | KafkaDrError
    quotas: dict[tuple[QuotaEntity, str], float] | KafkaDrError
    users: frozenset[ScramUser] | KafkaDrError
    groups: frozenset[str] | KafkaDrError
    inherited: Mapping[str, ConfigValue] | KafkaDrError
    met: Mapping[str, str] | KafkaDrError


def _read_others(compared: ComparedCluster) -> _OthersRead:
    cluster = compared.cluster
    asked: dict[str, Callable[[], Any]] = {
        "acls": compared.acls if compared.acls_decide else frozenset,
        "quotas": cluster.quotas.list,
        "users": cluster.scram_users.list,
        "groups": cluster.groups.names,
        # What new topics inherit, as the register's topic shows it, which is on every adopted cluster.
        "inherited": partial(cluster.configs.inherited, REGISTER_TOPIC),
        "met": partial(met_by_applications, cluster),
    }
    return _OthersRead(**ask_each(lambda name: asked[name](), asked))


@dataclass(slots=True)
class _Answers:
    """Takes in one section after another, and keeps what could not be answered."""

    unknown: dict[str, str] = field(default_factory=dict)

    def __call__(self, section: str, answer: T | KafkaDrError, otherwise: T) -> T:
        if isinstance(answer, Unanswered):
            raise answer
        if isinstance(answer, KafkaDrError):
            self.unknown[section] = str(answer)
            return otherwise
        return answer


def _snapshot(compared: ComparedCluster, read: _TopicsRead, others: _OthersRead, group: ProtectionGroup) -> Snapshot:
    taken = _Answers()
    no_defaults: Mapping[str, ConfigValue] = {}
    described = taken(TOPICS, read.described, Described({}, {}))
    topics = _topics(read.overview, described, read.names, taken.unknown)
    acls = taken(ACLS, others.acls, frozenset[Acl]())
    no_quotas: dict[tuple[QuotaEntity, str], float] = {}
    quotas = taken(QUOTAS, others.quotas, no_quotas)
    users = taken(USERS, others.users, frozenset[ScramUser]())
    groups = taken(GROUPS, others.groups, frozenset[str]())
    no_settings: Mapping[str, str] = {}
    met = taken(BROKERS, others.met, no_settings)
    taken(NAMES, read.seen_by_audit, ())
    return Snapshot(
        cluster=compared.cluster.name,
        cluster_id=read.overview.cluster_id,
        brokers=read.overview.brokers,
        topics=topics,
        # Where it is not known what they inherit, new topics set everything that counts.
        inherited=_Answers()("what topics inherit", others.inherited, no_defaults),
        own_topics=frozenset(name for name in read.overview.topics if name.startswith(OWN_TOPICS)),
        acls=acls - compared.fence,
        fence=compared.fence & acls,
        rules_in=compared.rules_in,
        acls_decide=compared.acls_decide,
        open_to_all=compared.open_to_all,
        quotas=quotas,
        users=users,
        met=met,
        groups=frozenset(filter(group.owns_group, groups)),
        unknown=taken.unknown,
    )


def _topics(
    overview: Overview, described: Described, names: Collection[str], unknown: dict[str, str]
) -> dict[str, TopicConfig]:
    found: dict[str, TopicConfig] = {}
    for name in sorted(names):
        layout, configs, error = overview.topics.get(name), described.configs.get(name), described.errors.get(name)
        if layout is not None and configs is not None:
            found[name] = TopicConfig(layout, configs)
        elif error is not None and not (layout is None and isinstance(error, NotFound)):
            unknown[TOPIC_PREFIX + name] = str(error)
        elif configs is not None:
            unknown[TOPIC_PREFIX + name] = "its configuration can be read, its partitions not: DESCRIBE is missing"
    return found
