"""What a cluster shows of itself and of the applications on it. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_dr.checks.authorizers import ALLOW_EVERYONE, AUTHORIZER, SUPER_USERS, BrokerAnswers, wrong_authorizers
from kafka_dr.clusters import Acl, ClientSettings, KafkaCluster
from kafka_dr.clusters.group_kinds import ListedGroup


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """A cluster as one principal sees it.

    :param settings: how it was reached
    :param read_by: by consumer group, the topics that it has committed offsets in
    :param shown: the settings of the authorizer, by broker; ``None`` for a value that the broker hides
    """

    name: str
    settings: ClientSettings
    cluster_id: str
    topics: frozenset[str] = frozenset()
    groups: tuple[ListedGroup, ...] = ()
    read_by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
    shown: BrokerAnswers = field(default_factory=dict)

    @property
    def without_acls(self) -> str:
        """Why ACLs do not decide here, as a sentence; empty if they do, as far as the brokers show it."""
        return next(wrong_authorizers(self.name, self.shown, None), "")

    def hides(self, setting: str) -> bool:
        """Return whether a broker has a value for this setting and does not show it."""
        return any(setting in each and each[setting] is None for each in self.shown.values())


def look_at(name: str, settings: ClientSettings) -> SeenCluster:
    """Read a cluster; the principal needs DESCRIBE and DESCRIBE_CONFIGS on it, and DESCRIBE on topics and groups.

    :raises KafkaDrError: it does not answer, or refuses the login or a right; the message names cluster and principal
    """
    with KafkaCluster(name, settings) as cluster:
        cluster.refuse_mistake()
        identity = cluster.topics.identity()
        shown = cluster.broker_settings.read(identity.brokers, (AUTHORIZER, ALLOW_EVERYONE, SUPER_USERS))
        bare = SeenCluster(name, settings, identity.cluster_id, shown=shown)
        groups = cluster.group_kinds.listed()
        consumers = [each.group for each in groups if each.kind in ("consumer", "streams")]
        offsets = cluster.groups.offsets(consumers, require_stable=False)
        return replace(
            bare,
            topics=cluster.topics.names(),
            groups=groups,
            read_by={group: frozenset(each.topic for each in found) for group, found in offsets.items()},
            # Without an authorizer brokers have none, and refuse the question.
            acls=frozenset() if bare.without_acls else cluster.acls.list(),
        )
