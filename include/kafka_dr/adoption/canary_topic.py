"""The canary topic of a group that is being adopted: whether it is missing, and creating it, if a person said so.

Without it no flow is watched, and every failover is refused. It is created on all clusters with the same settings, so
that no standby's copy differs in nothing. A topic that exists is left as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_dr import parallel
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext

NAME = "canary_topic"
#: A canary is a small record a minute in each partition; verdicts read the newest ones.
_CONFIG: Mapping[str, str] = {"cleanup.policy": "delete", "retention.ms": str(24 * 60 * 60 * 1000)}
#: How many replicas the brokers give a topic for which nobody says it: their ``default.replication.factor``.
_BY_THE_CLUSTER = -1
#: How a person says yes: in Airflow's form, and on the command line.
_YES = "trigger dr_adopt with create_canary_topic, or python -m kafka_dr adopt with --create-canary-topic"


@dataclass(frozen=True, slots=True)
class CanaryTopic:
    """A canary topic that has to be created.

    :param clusters: on which it is missing, the active one first
    :param partitions: as many as the flow has tasks, so that each of them copies some
    """

    name: str
    clusters: tuple[str, ...]
    partitions: int

    def __str__(self) -> str:
        hours = int(_CONFIG["retention.ms"]) // 3_600_000
        return (
            f"{self.name} on {' and '.join(self.clusters)}, with {self.partitions} partitions, as many replicas as the "
            f"brokers give by default, and a retention of {hours} hours"
        )


def missing(context: GroupContext, *, active: str, standbys: Collection[str]) -> CanaryTopic | None:
    """Return the canary topic if the active cluster lacks it; on a standby replication creates it if that has one.

    :raises KafkaDrError: a cluster does not answer
    """
    name = context.group.canary_topic
    names = parallel.ask_all(lambda cluster: context.operator(cluster).topics.names(), (active, *standbys))
    if name in names[active]:
        return None
    lacking = tuple(cluster for cluster in (active, *standbys) if name not in names[cluster])
    return CanaryTopic(name, lacking, context.group.flow.tasks_max)


def judged(wanted: CanaryTopic | None, *, name: str, create: bool) -> Check:
    """Return whether the adoption may continue: the topic exists, or a person said that it is to be created. Pure.

    :param wanted: the topic that is missing; ``None`` if it exists
    :param name: of the canary topic
    :param create: whether a person said so
    """
    if wanted is None:
        return Check(NAME, "ok", f"the canary topic {name} exists")
    if create:
        return Check(NAME, "ok", f"the canary topic is missing and will be created: {wanted}")
    return Check(
        NAME,
        "failed",
        f"the canary topic is missing, and without it nobody sees whether replication works. To have it created "
        f"({wanted}), {_YES}; or create it yourself and run dr_adopt again",
    )


def create(context: GroupContext, wanted: CanaryTopic) -> tuple[str, ...]:
    """Create the topic where it is missing, and return the clusters on which this call created it.

    :raises NotAuthorized: the operator may not create it
    """
    return tuple(
        cluster
        for cluster in wanted.clusters
        if context.operator(cluster).topics.create(
            wanted.name, partitions=wanted.partitions, replication_factor=_BY_THE_CLUSTER, config=_CONFIG
        )
    )
