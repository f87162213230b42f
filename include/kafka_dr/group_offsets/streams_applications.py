"""Kafka Streams applications: their state and their offsets belong together, so both are moved or none is.

The state is rebuilt from changelog topics. A standby can do so if these topics are copied like every other topic of the
group, and the offsets are those of the same moment: a planned failover freezes the application first, and compares all
of its topics to the end. Files of the state on the instances name offsets of the old cluster's changelogs, so they have
to be deleted before the application starts on the other cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.clusters import KafkaCluster, NotAuthorized
from kafka_dr.clusters.group_kinds import ListedGroup, internal_topics, streams_applications
from kafka_dr.clusters.model import GroupState
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few

#: ``moved``: with its state, as the topology says. ``refused``: a failover stops for it. ``left_behind``: its owners
#: take care of it.
StreamsState = Literal["moved", "refused", "left_behind"]
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class StreamsApplication:
    """A Kafka Streams application, as a cluster shows it.

    :param group: its id, which is also its group's name
    :param said: what shows that it is one
    :param inputs: the topics that it reads and does not make, as far as they are known
    :param internal: the topics that it makes for itself
    :param own_protocol: whether its group is of Kafka Streams' own protocol (KIP-1071)
    """

    group: str
    said: str
    inputs: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    own_protocol: bool = False

    def not_copied(self, owns: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the internal topics that do not move with the protection group.

        :param owns: whether a topic belongs to the protection group
        """
        return tuple(topic for topic in self.internal if not owns(topic))

    def to_json(self) -> dict[str, Any]:
        """Return it as a row, as a last look keeps it."""
        return {
            "group": self.group,
            "said": self.said,
            "inputs": list(self.inputs),
            "internal": list(self.internal),
            "own_protocol": self.own_protocol,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> StreamsApplication:
        """Read what :meth:`to_json` wrote."""
        inputs, internal = (tuple(map(str, row[name])) for name in ("inputs", "internal"))
        return cls(str(row["group"]), str(row["said"]), inputs, internal, bool(row["own_protocol"]))


@dataclass(frozen=True, slots=True)
class JudgedApplication:
    """A Kafka Streams application, and what becomes of it in a failover.

    :param not_copied: its internal topics that do not move with the group
    :param todo: what its owners have to do, in a sentence or more
    """

    application: StreamsApplication
    state: StreamsState
    not_copied: tuple[str, ...]
    todo: str

    @property
    def sentence(self) -> str:
        """What it is, what it has, and what to do."""
        found = self.application
        what = f"{found.group} is a Kafka Streams application ({found.said}), {_has(found, self.not_copied)}"
        return f"{what}: {self.todo}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a row of a report."""
        return {
            "group": self.application.group,
            "state": self.state,
            "shown_by": self.application.said,
            "internal_topics": ", ".join(self.application.internal),
            "internal_topics_not_copied": ", ".join(self.not_copied),
            "to_do": self.todo,
        }


def judge(application: StreamsApplication, context: GroupContext, *, target: str) -> JudgedApplication:
    """Say what becomes of a Kafka Streams application in a failover to a cluster, and what to do. Pure."""
    group, name = context.group, application.group
    missing = application.not_copied(group.owns_topic)
    if name in group.groups_policy.left_behind:
        return JudgedApplication(application, "left_behind", missing, _reset(target))
    if missing:
        named = ", ".join(first_few(missing, _MOST_NAMED))
        todo = (
            f"add its internal topics ({named}) to {group.name}, by the prefix {name}-, so that they are copied; or "
            f"name it in groups_policy.left_behind, and reset it on {target} after the failover"
        )
        return JudgedApplication(application, "refused", missing, todo)
    if name in group.groups_policy.streams_moved:
        return JudgedApplication(application, "moved", missing, _restored(target))
    todo = (
        "name it in groups_policy.streams_moved, and a failover moves its offsets, too; delete its state.dir on every "
        f"instance before it starts on {target}. Or name it in groups_policy.left_behind, and reset it there"
    )
    return JudgedApplication(application, "refused", missing, todo)


def _has(found: StreamsApplication, missing: tuple[str, ...]) -> str:
    if not found.internal:
        return "and no internal topic of it was seen"
    if missing:
        return f"and {len(missing)} of its {len(found.internal)} internal topics are not copied with the group"
    return f"and its {len(found.internal)} internal topics are copied with the group"


def _restored(target: str) -> str:
    return (
        f"its offsets are moved; delete its state.dir on every instance before it starts on {target}, so that its "
        "state is restored from the copied changelogs. After an unplanned failover state and offsets are of different "
        "moments: where its results have to be exact, reset it instead"
    )


def _reset(target: str) -> str:
    return (
        f"its offsets are not moved. Before it starts on {target}: stop it everywhere, run its reset command, and "
        "delete its state.dir on every instance. It then reads its input topics from their start, so its state lacks "
        "what has expired there"
    )


def found_on(
    context: GroupContext, cluster: KafkaCluster, listed: Mapping[str, ListedGroup], states: Mapping[str, GroupState]
) -> tuple[StreamsApplication, ...]:
    """Return the protection group's Kafka Streams applications on a cluster.

    :param listed: the groups of the protection group there
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
        topology = None if told is None or isinstance(told, KafkaDrError) else told
        internal = {*internal_topics(name, topics, every), *(topology.internal if topology else ())}
        inputs = topology.inputs if topology else tuple(sorted(_read_by(cluster, name, states.get(name)) - internal))
        said = classic.get(name) or f"a group of its own protocol ({listed[name].said})"
        found.append(StreamsApplication(name, said, inputs, tuple(sorted(internal)), own_protocol=name in newer))
    return tuple(found)


def _read_by(cluster: KafkaCluster, group: str, state: GroupState | None) -> set[str]:
    """Return the topics that its members have, or that it has committed to."""
    committed = cluster.group_reading.committed([group])[group]
    topics = set() if isinstance(committed, KafkaDrError) else {p.topic for p in committed}
    return topics | (state.assigned if state is not None else frozenset())


def states_of(cluster: KafkaCluster, groups: list[str]) -> dict[str, GroupState]:
    """Return what groups do at the moment; without those that the broker does not show: another check names these."""
    if not groups:
        return {}
    try:
        return cluster.groups.states(groups)
    except NotAuthorized:
        if len(groups) == 1:
            return {groups[0]: GroupState(groups[0], "UNKNOWN", (), frozenset())}
    half = len(groups) // 2
    return states_of(cluster, groups[:half]) | states_of(cluster, groups[half:])
