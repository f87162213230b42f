"""How Kafka Streams applications and sinks of Connect are recognised among the groups of a cluster.

A Kafka Streams application shows itself by the type of its group (KIP-1071), by its members' assignor, or by topics
that begin with its name. A sink of Connect shows itself by its members or its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.group_kinds import ListedGroup, internal_topics, streams_applications
from kafka_dr.clusters.model import GroupState
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.errors import KafkaDrError

#: The groups of Connect's sinks, and the client ids of their tasks, unless a worker or connector overrides them.
_SINK_GROUP, _SINK_CLIENT = "connect-", "connector-consumer-"


@dataclass(frozen=True, slots=True)
class StreamsApplication(StoredDocument):
    """A Kafka Streams application, as a cluster shows it.

    :param group: its id, which is also its group's name
    :param said: what shows that it is one
    :param inputs: the topics that it reads and does not make, as far as they are known
    :param internal: the topics that it makes for itself
    :param own_protocol: whether its group is of Kafka Streams' own protocol (KIP-1071)
    :param unread: why the brokers did not say which topics it has; empty if they did, or cannot know. It is not kept
    """

    group: str
    said: str
    inputs: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    own_protocol: bool = False
    unread: str = field(default="", metadata=stored(hidden=True))

    def not_copied(self, owns: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the internal topics that do not move with the protection group.

        :param owns: whether a topic belongs to the protection group
        """
        return tuple(topic for topic in self.internal if not owns(topic))


def found_on(
    cluster: KafkaCluster, listed: Mapping[str, ListedGroup], states: Mapping[str, GroupState]
) -> tuple[StreamsApplication, ...]:
    """Return the Kafka Streams applications among groups of a cluster, sorted by name.

    :param listed: the groups
    :param states: what those of the consumer protocols do at the moment
    """
    topics = cluster.topics.names()
    classic = streams_applications({name: state.assignor for name, state in states.items()}, topics)
    newer = sorted(name for name, group in listed.items() if group.kind == "streams")
    known = cluster.streams_groups.topologies(newer) if newer else {}
    every = (*classic, *newer)
    found = []
    for name in sorted(every):
        told = known.get(name)
        topology, unread = (None, str(told)) if isinstance(told, KafkaDrError) else (told, "")
        internal = {*internal_topics(name, topics, every), *(topology.internal if topology else ())}
        inputs = topology.inputs if topology else tuple(sorted(_read_by(cluster, name, states.get(name)) - internal))
        said = classic.get(name) or f"a group of its own protocol ({listed[name].said})"
        found.append(StreamsApplication(name, said, inputs, tuple(sorted(internal)), name in newer, unread))
    return tuple(found)


def _read_by(cluster: KafkaCluster, group: str, state: GroupState | None) -> set[str]:
    """Return the topics that its members have, or that it has committed to."""
    committed = cluster.group_reading.committed([group])[group]
    topics = set() if isinstance(committed, KafkaDrError) else {p.topic for p in committed}
    return topics | (state.assigned if state is not None else frozenset())


def sink_of(group: str, state: GroupState | None) -> str:
    """Return the name of the sink connector whose tasks read as a consumer group; empty if it is none. Pure.

    :param state: what the group does at the moment
    """
    for member in state.members if state is not None else ():
        client = member.partition(" ")[0]
        if client.startswith(_SINK_CLIENT):
            return client.removeprefix(_SINK_CLIENT).rpartition("-")[0]
    return group.removeprefix(_SINK_GROUP) if group.startswith(_SINK_GROUP) else ""
