"""Every group of a cluster, including share groups and others that librdkafka's list omits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.clusters.session import ClusterSession

#: ``other``: a Connect worker, a schema registry, or an unknown kind.
GroupKind = Literal["consumer", "share", "streams", "other"]
#: Endings of Kafka Streams' internal topics. Their names begin with the application's id, which is also its group's.
_STREAMS_ENDINGS = ("-changelog", "-repartition")
#: The name of StreamsPartitionAssignor, which no other application uses.
_STREAMS_ASSIGNOR = "stream"


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group, as the brokers list it.

    :param said: type and protocol, as the brokers name them
    :param joined: whether a member has ever joined it; if not, its offsets were set by a tool, or committed by a client
        that assigns partitions to itself
    """

    group: str
    kind: GroupKind
    said: str
    joined: bool = True


class GroupKinds:
    """Lists groups with their kind.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def listed(self) -> tuple[ListedGroup, ...]:
        """Return every group that the principal may see, sorted by name."""
        with self._session.translated("list groups of all kinds"):
            found = self._session.python_admin.list_groups()
        return tuple(sorted((_group(row) for row in found), key=lambda group: group.group))


def streams_applications(assignors: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """Return the groups that are Kafka Streams applications of the classic protocol, and what shows it.

    The assignor of its members shows it. A group without members is recognised only by internal topics whose names
    begin with the group's name. If such a name fits two groups, both are returned.

    :param assignors: by group; empty if the group has no member
    """
    internal = sorted(topic for topic in topics if topic.endswith(_STREAMS_ENDINGS))
    found = {}
    for group, assignor in assignors.items():
        topic = next((t for t in internal if t.startswith(f"{group}-")), None)
        if assignor == _STREAMS_ASSIGNOR:
            found[group] = "the assignor of its members shows it"
        elif not assignor and topic is not None:
            found[group] = f"its topic {topic} shows it"
    return found


def internal_topics(application: str, topics: Iterable[str], applications: Iterable[str]) -> tuple[str, ...]:
    """Return the internal topics of a Kafka Streams application by their names, sorted.

    A topic that also fits the longer name of another application is that one's.

    :param application: its id, which is also its group's name
    :param topics: every topic of the cluster
    :param applications: every such application of the cluster
    """
    longer = tuple(f"{each}-" for each in applications if each.startswith(f"{application}-"))
    mine = (t for t in topics if t.startswith(f"{application}-") and t.endswith(_STREAMS_ENDINGS))
    return tuple(sorted(topic for topic in mine if not topic.startswith(longer)))


def _group(row: Mapping[str, Any]) -> ListedGroup:
    protocol = str(row.get("protocol_type") or "")
    kind = str(row.get("group_type") or "")
    said = " ".join(dict.fromkeys(filter(None, (kind.lower(), protocol.lower()))))
    for word in ("share", "streams"):
        if word in (kind.lower(), protocol.lower()):
            return ListedGroup(str(row["group_id"]), "share" if word == "share" else "streams", said)
    return ListedGroup(
        str(row["group_id"]),
        "consumer" if protocol in ("", "consumer") else "other",
        said,
        joined=bool(protocol) or kind.lower() not in ("", "classic"),
    )
