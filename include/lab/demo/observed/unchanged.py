"""Whether anything on two clusters changed while somebody looked at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.waiting import wait_until
from lab.errors import LabError

QUIET_SECONDS = 120.0
#: Between two looks that must be equal.
_STILL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything that a write would change: ends of all topics (Kafka's own, too), their settings, ACLs.

    A dedicated MirrorMaker keeps its connectors in a topic, so the end of that topic is theirs.
    """

    ends: Mapping[str, int]
    settings: Mapping[str, Mapping[str, str]]
    acls: Sequence[str]

    @classmethod
    def of(cls, cluster: KafkaCluster) -> ClusterState:
        """Look at a cluster.

        :param cluster: as the lab's administrator
        """
        topics = cluster.topics.describe(cluster.topics.names())
        partitions = [p for topic in topics.values() for p in topic.partitions]
        ends = cluster.topics.high_watermarks(partitions)
        return cls(
            {str(p): end for p, end in sorted(ends.items())},
            cluster.topics.configs(topics),
            sorted(str(acl) for acl in cluster.acls.list()),
        )


def quiet(cluster: KafkaCluster) -> ClusterState:
    """Wait until nobody uses a cluster any more, and return its state.

    :raises LabError: it does not come to rest
    """

    def look() -> tuple[ClusterState, ClusterState, list[str]]:
        groups = cluster.groups.states(cluster.groups.names())
        members = sorted(name for name, state in groups.items() if state.members)
        before = ClusterState.of(cluster)
        SystemClock().sleep(_STILL_SECONDS)
        return before, ClusterState.of(cluster), members

    before, after, members = wait_until(
        look, lambda seen: seen[0] == seen[1] and not seen[2], clock=SystemClock(), seconds=QUIET_SECONDS
    )
    if members or before != after:
        moving = ", ".join(members or differences(before, after))
        raise LabError(f"{cluster.name} did not come to rest within {QUIET_SECONDS:.0f} s; still in use: {moving}")
    return after


def differences(before: ClusterState, after: ClusterState) -> list[str]:
    """Say what changed, in a few words each."""
    said = [f"end of {name}: {_change(before.ends, after.ends, name)}" for name in _unlike(before.ends, after.ends)]
    said += [f"settings of {name}" for name in _unlike(before.settings, after.settings)]
    said += [f"ACL {acl}" for acl in sorted(set(before.acls) ^ set(after.acls))]
    return said


def _unlike(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def _change(before: Mapping[str, int], after: Mapping[str, int], name: str) -> str:
    return f"{before.get(name, 'none')} before, {after.get(name, 'none')} after"
