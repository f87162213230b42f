"""Read both clusters, at the same time. Each is asked about ten times, however many topics and ACLs there are.

What one request may not see is unknown, with the reason; the other requests continue. The brokers do not list a topic
that is hidden from the operator: hence the audit's principal is asked which topics there are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_dr.clusters import Acl, KafkaCluster
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.configuration import ConfigValue, QuotaEntity, ScramUser
from kafka_dr.clusters.errors import NotFound
from kafka_dr.config_sync.snapshot import (
    ACLS,
    GROUPS,
    NAMES,
    QUOTAS,
    TOPIC_PREFIX,
    TOPICS,
    USERS,
    Snapshot,
    TopicConfig,
)
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.topology import ProtectionGroup

T = TypeVar("T")

#: How many requests to one cluster are made at the same time.
_AT_ONCE = 6


@dataclass(frozen=True, slots=True)
class Side:
    """A cluster to be read.

    :param cluster: reached as the operator
    :param fence: the ACLs that this project added on it, by the register
    :param acls: reads every ACL
    :param seen_by_audit: asks as the audit's principal for the names of the topics
    :param open_to_all: whether the brokers let everybody do what no ACL is about
    """

    cluster: KafkaCluster
    fence: frozenset[Acl]
    acls: Callable[[], frozenset[Acl]]
    seen_by_audit: Callable[[], Collection[str]]
    open_to_all: bool = False


def read_sides(active: Side, standby: Side, group: ProtectionGroup) -> tuple[Snapshot, Snapshot]:
    """Read two clusters at the same time, as far as a protection group is concerned.

    :raises ClusterUnreachable: a cluster does not answer at all
    """
    sides = (active, standby)
    with ThreadPoolExecutor(max_workers=2 * _AT_ONCE) as pool:
        besides = [_Besides.begin(pool, side) for side in sides]
        overviews = list(pool.map(lambda side: side.cluster.configs.overview(), sides))
        # Both clusters are asked about each name: a missing topic and a hidden one have different answers.
        listed = [*(overview.topics for overview in overviews), *(beside.seen() for beside in besides)]
        seen = {name for each in listed for name in each if group.owns_topic(name)}
        names = seen | set(group.topics) | {group.canary_topic}
        described = [pool.submit(side.cluster.configs.describe, names) for side in sides]
        first, second = (
            _snapshot(side, overview, beside, _Topics(names, configs), group)
            for side, overview, beside, configs in zip(sides, overviews, besides, described, strict=True)
        )
    return first, second


@dataclass(frozen=True, slots=True)
class _Besides:
    """What is asked in addition to the topics."""

    acls: Future[frozenset[Acl]]
    quotas: Future[dict[tuple[QuotaEntity, str], float]]
    users: Future[frozenset[ScramUser]]
    groups: Future[frozenset[str]]
    inherited: Future[Mapping[str, ConfigValue]]
    names: Future[Collection[str]]

    @classmethod
    def begin(cls, pool: ThreadPoolExecutor, side: Side) -> _Besides:
        cluster = side.cluster
        return cls(
            acls=pool.submit(side.acls),
            quotas=pool.submit(cluster.quotas.list),
            users=pool.submit(cluster.scram_users.list),
            groups=pool.submit(cluster.groups.names),
            # What new topics inherit, as the register's topic shows it, which is on every adopted cluster.
            inherited=pool.submit(cluster.configs.inherited, REGISTER_TOPIC),
            names=pool.submit(side.seen_by_audit),
        )

    def seen(self) -> Collection[str]:
        """Return what the audit sees; nothing where it cannot look, which is said by the snapshot."""
        return _Answers()(NAMES, self.names, ())


@dataclass(frozen=True, slots=True)
class _Topics:
    """The topics that were asked about."""

    names: Collection[str]
    described: Future[Described]


@dataclass(slots=True)
class _Answers:
    """Takes in one section after another, and keeps what could not be answered."""

    unknown: dict[str, str] = field(default_factory=dict)

    def __call__(self, section: str, asked: Future[T], otherwise: T) -> T:
        try:
            return asked.result()
        except TryAgain:
            raise
        except KafkaDrError as error:
            self.unknown[section] = str(error)
            return otherwise


def _snapshot(side: Side, overview: Overview, beside: _Besides, asked: _Topics, group: ProtectionGroup) -> Snapshot:
    taken = _Answers()
    no_defaults: Mapping[str, ConfigValue] = {}
    described = taken(TOPICS, asked.described, Described({}, {}))
    topics = _topics(overview, described, asked.names, taken.unknown)
    acls = taken(ACLS, beside.acls, frozenset[Acl]())
    no_quotas: dict[tuple[QuotaEntity, str], float] = {}
    quotas = taken(QUOTAS, beside.quotas, no_quotas)
    users = taken(USERS, beside.users, frozenset[ScramUser]())
    groups = taken(GROUPS, beside.groups, frozenset[str]())
    taken(NAMES, beside.names, ())
    return Snapshot(
        cluster=side.cluster.name,
        cluster_id=overview.cluster_id,
        brokers=overview.brokers,
        topics=topics,
        # Where it is not known what they inherit, new topics set everything that counts.
        inherited=_Answers()("what topics inherit", beside.inherited, no_defaults),
        acls=acls - side.fence,
        fence=side.fence & acls,
        open_to_all=side.open_to_all,
        quotas=quotas,
        users=users,
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
