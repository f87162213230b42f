"""The readers of a flow that a committed offset alone does not describe: named, and never simply good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.clusters.model import GroupState
from kafka_dr.errors import KafkaDrError
from kafka_dr.readers.instructions import SINK_MOVE, SINK_OWN_OFFSETS, reset_application, restart_share_group
from kafka_dr.readers.recognition import found_on, sink_of

#: ``other``: a group whose members use another protocol than that of consumers.
ReaderKind = Literal["share", "streams", "connect_sink", "other"]
#: The best verdict that a reader may get, whatever its offsets say.
BestVerdict = Literal["ok", "warning", "unknown"]
_NAMES: Mapping[ReaderKind, str] = {
    "share": "share group",
    "streams": "Kafka Streams application",
    "connect_sink": "sink of Connect",
    "other": "group of another protocol",
}
#: By their protocol, groups whose members share work and read nothing as a group.
_COORDINATION = {"connect": "workers of Connect", "sr": "instances of a schema registry"}


@dataclass(frozen=True, slots=True)
class CoveredReader:
    """A group that needs more than a moved offset, or whose position no offset says.

    :param said: what shows the kind
    :param todo: what its owners have to do, in a sentence or more
    :param best: whether its position alone may make it good: not where a state, or an unseen position, counts
    :param internal: the topics that a Kafka Streams application makes for itself, as far as they are known
    """

    group: str
    kind: ReaderKind
    said: str
    todo: str
    best: BestVerdict = "unknown"
    internal: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """The kind, for people."""
        return _NAMES[self.kind]

    @property
    def sentence(self) -> str:
        """What it is, and what to do."""
        said = "" if self.said in self.called else f" ({self.said})"
        return f"{self.group} is a {self.called}{said}: {self.todo}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a row of a report, without a verdict."""
        row = {"group": self.group, "kind": self.called, "shown_by": self.said}
        return {**row, "internal_topics": ", ".join(self.internal), "to_do": self.todo}


@dataclass(frozen=True, slots=True)
class CoveredReaders:
    """What was recognised.

    :param readers: sorted by group
    :param problems: a sentence for each thing that was not looked at
    """

    readers: tuple[CoveredReader, ...]
    problems: tuple[str, ...] = ()


def reader_of(group: ListedGroup, *, target: str) -> CoveredReader | None:
    """Return what a group is, by its kind alone; ``None`` for a consumer group. Pure.

    :param target: the cluster on which it would start again
    """
    if group.kind == "share":
        return CoveredReader(group.group, "share", group.said, restart_share_group(target))
    if group.kind == "streams":
        return _streams(group.group, f"a group of its own protocol ({group.said})", target=target)
    if group.kind == "other":
        return _other(group, target=target)
    return None


def covered_readers(cluster: KafkaCluster, groups: Sequence[ListedGroup], *, target: str) -> CoveredReaders:
    """Recognise readers among groups, as far as the principal may look.

    :param groups: that a flow covers, of all kinds
    :param target: the cluster on which they would start again
    """
    listed = {each.group: each for each in groups}
    found = {name: reader for name, each in listed.items() if (reader := reader_of(each, target=target)) is not None}
    states, problems = _states(cluster, [name for name, each in listed.items() if each.kind == "consumer"])
    found |= {
        name: _sink(name, connector)
        for name, each in listed.items()
        if each.kind == "consumer" and (connector := sink_of(name, states.get(name)))
    }
    try:
        applications = found_on(cluster, listed, states)
    except KafkaDrError as error:
        problems.append(f"which groups are Kafka Streams applications was not looked at: {error}")
        applications = ()
    for each in applications:
        found[each.group] = _streams(each.group, each.said, target=target, internal=each.internal)
        if each.unread:
            said = f"which topics the Kafka Streams application {each.group} has was not looked at"
            problems.append(f"{said}: {each.unread}")
    return CoveredReaders(tuple(found[name] for name in sorted(found)), tuple(problems))


def _states(cluster: KafkaCluster, groups: Iterable[str]) -> tuple[dict[str, GroupState], list[str]]:
    found, problems = dict[str, GroupState](), []
    for group, answer in cluster.group_reading.states(sorted(groups)).items():
        if isinstance(answer, KafkaDrError):
            problems.append(f"the members of {group} were not looked at: {answer}")
        else:
            found[group] = answer
    return found, problems


def _streams(group: str, said: str, *, target: str, internal: tuple[str, ...] = ()) -> CoveredReader:
    todo = f"its state and its offsets belong together, and an offset alone proves neither. {reset_application(target)}"
    return CoveredReader(group, "streams", said, todo, internal=internal)


def _sink(group: str, connector: str) -> CoveredReader:
    todo = f"{SINK_MOVE}. {SINK_OWN_OFFSETS}, its owners have to map these, too"
    return CoveredReader(group, "connect_sink", f"of the connector {connector}", todo, best="ok")


def _other(group: ListedGroup, *, target: str) -> CoveredReader:
    known = _COORDINATION.get(group.said.rpartition(" ")[2])
    if known:
        todo = f"it has no position: its members are {known}, which share work and read nothing as this group"
        return CoveredReader(group.group, "other", group.said, todo, best="warning")
    todo = f"ask its owners what its members read, and where they would begin on {target}"
    return CoveredReader(group.group, "other", group.said, todo)
