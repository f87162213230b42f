"""Whether clusters hold topics that they may not hold, or copies of them, whoever has made these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kafka_dr.checks.copied_once import origins_in
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.topology.model import Topology

NAME = "data_residency"
_MOST_NAMED = 3


def not_permitted(topology: Topology, cluster: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each topic that a cluster holds and may not hold, with the rule that says so. Pure.

    A name that begins with that of a cluster is a copy of what comes after it, as MirrorMaker's
    ``DefaultReplicationPolicy`` names it with any separator of the topology.

    :param names: all topics on the cluster
    """
    rules = {name: rule for name, rule in topology.data_residency.items() if cluster not in rule.may_be_held_by}
    marks = {mark for group in topology.protection_groups.values() for mark in group.copies_begin.values()}
    marks |= {f"{each}." for each in topology.clusters}
    for topic in sorted(names) if rules else ():
        _, original = origins_in(topic, {mark: mark for mark in marks})
        yield from ((topic, name) for name, rule in rules.items() if rule.covers(topic) or rule.covers(original))


def held_where_permitted(context: GroupContext, clusters: Collection[str]) -> Check:
    """Ask clusters for such topics; each is asked for one of the groups that have it."""
    topology = context.clients.topology
    asked = [name for name in sorted(clusters) if _first_with(topology, name) == context.declared.name]
    found = [
        f"{topic} on {cluster} ({rule})"
        for cluster in asked
        for topic, rule in not_permitted(topology, cluster, context.operator(cluster).topics.names())
    ]
    if not found:
        return Check(NAME, "ok", "no cluster that was asked holds a topic that it may not hold")
    return Check(
        NAME,
        "failed",
        f"data residency is violated: {'; '.join(first_few(found, _MOST_NAMED))}. Find what makes these topics there, "
        "stop it, and delete them there",
    )


def _first_with(topology: Topology, cluster: str) -> str:
    return next(name for name, group in topology.protection_groups.items() if cluster in group.clusters)
