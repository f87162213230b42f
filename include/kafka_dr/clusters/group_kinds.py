"""Every group of a cluster, also those that are no consumer groups: librdkafka's list leaves them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.errors import translated
from kafka_dr.clusters.session import ClusterSession

#: ``other``: a Connect worker, a schema registry, or something that is not known.
GroupKind = Literal["consumer", "share", "streams", "other"]
#: What Kafka Streams calls its internal topics, behind the name of the application, which is its group's.
_STREAMS_ENDINGS = ("-changelog", "-repartition")
#: The name of StreamsPartitionAssignor, which no other application uses.
_STREAMS_ASSIGNOR = "stream"


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group, as the brokers list it.

    :param said: type and protocol in the brokers' words
    """

    group: str
    kind: GroupKind
    said: str


class GroupKinds:
    """Lists groups with their kind.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    @classmethod
    def of(cls, cluster: KafkaCluster) -> GroupKinds:
        """Ask a cluster that is already reached."""
        return cls(cluster._session)

    def listed(self) -> tuple[ListedGroup, ...]:
        """Return every group that the principal may see, by name."""
        with translated(self._session.label, "list groups of all kinds"):
            found = self._session.python_admin.list_groups()
        return tuple(sorted((_group(row) for row in found), key=lambda group: group.group))


def streams_applications(assignors: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """Return the groups that are Kafka Streams applications of the classic protocol, and what shows it.

    Members tell it by their assignor. Of a group without members only internal topics tell, whose names begin with
    the group's; another group's may begin so, too, and then both are named.

    :param assignors: by group, empty where it has no member
    """
    internal = sorted(topic for topic in topics if topic.endswith(_STREAMS_ENDINGS))
    found = {}
    for group, assignor in assignors.items():
        topic = next((t for t in internal if t.startswith(f"{group}-")), None)
        if assignor == _STREAMS_ASSIGNOR:
            found[group] = "its members' assignor shows it"
        elif not assignor and topic is not None:
            found[group] = f"its topic {topic} shows it"
    return found


def _group(row: Mapping[str, Any]) -> ListedGroup:
    protocol = str(row.get("protocol_type") or "")
    kind = str(row.get("group_type") or "")
    said = " ".join(filter(None, (kind, protocol)))
    for word in ("share", "streams"):
        if word in (kind.lower(), protocol.lower()):
            return ListedGroup(str(row["group_id"]), "share" if word == "share" else "streams", said)
    return ListedGroup(str(row["group_id"]), "consumer" if protocol in ("", "consumer") else "other", said)
