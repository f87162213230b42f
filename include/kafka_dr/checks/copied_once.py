"""Whether records arrive once, where copies have other names: no topic is the copy of a copy.

MirrorMaker with its own policy (``DefaultReplicationPolicy``) keeps a topic only from the cluster that is first in its
name, and copies other copies on. This project's flows copy what applications write, and no copy. A topic
``west.east.orders`` holds records of east a second time, and consumers whose pattern matches all names read them twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.topology.model import ProtectionGroup

NAME = "copied_once"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Detour:
    """A topic that holds records which came by way of another cluster, or came back.

    :param way: the clusters on which they were, from their origin to where they are now
    """

    topic: str
    way: tuple[str, ...]

    def __str__(self) -> str:
        back = ", so they came back" if self.way[-1] in self.way[:-1] else ""
        return f"{self.topic} on {self.way[-1]} (records of {self.way[0]} by way of {' and '.join(self._by)}{back})"

    @property
    def _by(self) -> tuple[str, ...]:
        return self.way[1:-1] or self.way[-1:]


def detours(group: ProtectionGroup, cluster: str, names: Iterable[str]) -> Iterator[Detour]:
    """Yield the topics that are copies of copies, or copies of what the cluster has itself. Pure.

    :param names: all topics on the cluster
    """
    marks = group.copies_begin
    for name in sorted(names):
        passed, rest = origins_in(name, marks)
        if (len(passed) > 1 or passed == [cluster]) and group.owns_topic(rest):
            yield Detour(name, (*reversed(passed), cluster))


def origins_in(name: str, marks: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the clusters that the name of a topic begins with, the last one that copied it first, and the rest. Pure.

    :param marks: what the names of copies begin with, by the cluster of their originals
    """
    passed, rest = list[str](), name
    while by := next((each for each, mark in marks.items() if rest.startswith(mark)), ""):
        passed.append(by)
        rest = rest.removeprefix(marks[by])
    return passed, rest


def copied_once(context: GroupContext, clusters: Iterable[str]) -> Check:
    """Ask clusters for such topics."""
    asked = tuple(clusters)
    found = [
        str(detour)
        for cluster in asked
        for detour in detours(context.group, cluster, context.operator(cluster).topics.names())
    ]
    if not found:
        return Check(NAME, "ok", f"no topic on {' and '.join(asked)} is the copy of a copy")
    return Check(
        NAME,
        "warning",
        f"records are copied twice: {'; '.join(first_few(found, _MOST_NAMED))}. Consumers that subscribe to all names "
        "read them twice: find what copies these topics, let it leave out names that begin with that of a cluster, and "
        "delete them",
    )
