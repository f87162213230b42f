"""Reading both sides. Each is asked some ten times, however many topics and ACLs there are.

What one request may not see is unknown by itself, with the reason; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_dr.clusters import Acl, KafkaCluster
from kafka_dr.clusters.configs import Described, Overview
from kafka_dr.clusters.configuration import ConfigValue, QuotaEntity, ScramUser
from kafka_dr.clusters.errors import NotFound
from kafka_dr.config_sync.snapshot import ACLS, GROUPS, QUOTAS, TOPIC_PREFIX, TOPICS, USERS, Snapshot, TopicConfig
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.topology import ProtectionGroup

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Side:
    """A cluster to be read.

    :param cluster: reached as the operator
    :param fence: the ACLs that this project added there, by the register
    """

    cluster: KafkaCluster
    fence: frozenset[Acl] = frozenset()


def read_sides(active: Side, standby: Side, group: ProtectionGroup) -> tuple[Snapshot, Snapshot]:
    """Read two clusters at the same time, as far as a protection group is concerned.

    :raises ClusterUnreachable: a side does not answer at all
    """
    sides = (active, standby)
    with ThreadPoolExecutor(max_workers=2) as pool:
        overviews = list(pool.map(lambda side: side.cluster.configs.overview(), sides))
        # Asked about on both sides: one that is missing is told from one that may not be seen.
        seen = {name for overview in overviews for name in overview.topics if group.owns_topic(name)}
        names = seen | set(group.topics) | {group.canary_topic}
        first, second = pool.map(lambda side, overview: _read(side, overview, names, group), sides, overviews)
    return first, second


@dataclass(slots=True)
class _Asking:
    """Asks for one section after another, and keeps what could not be answered."""

    unknown: dict[str, str] = field(default_factory=dict)

    def __call__(self, section: str, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except TryAgain:
            raise
        except KafkaDrError as error:
            self.unknown[section] = str(error)
            return otherwise


def _read(side: Side, overview: Overview, names: Collection[str], group: ProtectionGroup) -> Snapshot:
    cluster, asking = side.cluster, _Asking()
    described = asking(TOPICS, lambda: cluster.configs.describe(names), Described({}, {}))
    topics = _topics(overview, described, names, asking.unknown)
    acls = asking(ACLS, cluster.acls.list, frozenset[Acl]())
    no_quotas: dict[tuple[QuotaEntity, str], float] = {}
    quotas = asking(QUOTAS, cluster.quotas.list, no_quotas)
    users = asking(USERS, cluster.scram.list, frozenset[ScramUser]())
    groups = asking(GROUPS, cluster.groups.names, frozenset[str]())
    return Snapshot(
        cluster=cluster.name,
        cluster_id=overview.cluster_id,
        brokers=overview.brokers,
        topics=topics,
        inherited=_inherited(cluster),
        acls=acls - side.fence,
        fence=side.fence & acls,
        quotas=quotas,
        users=users,
        groups=frozenset(filter(group.owns_group, groups)),
        unknown=asking.unknown,
    )


def _inherited(cluster: KafkaCluster) -> Mapping[str, ConfigValue]:
    """Return what new topics inherit, as the register's topic shows it, which is on every adopted cluster."""
    try:
        return cluster.configs.inherited(REGISTER_TOPIC)
    except TryAgain:
        raise
    except KafkaDrError:
        return {}  # new topics then set everything that counts


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
