"""Looking up the topics that a group's patterns match: on each cluster, by name and by the DENYs added for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import Acl
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.known_topics import SeenTopics
from kafka_dr.runs.silent_clusters import FULL_SECONDS
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.watch_results import WatchResultStore


def look(group: ProtectionGroup, clients: Clients, clusters: Collection[str]) -> None:
    """Learn what clusters show that have to answer.

    :param group: as the topology declares it
    :raises KafkaDrError: one of them does not answer, or is not the declared cluster
    """
    found = parallel.ask_all(partial(seen_on, group, clients), clusters)
    clients.known_topics.learn(group, found.values(), others_of(group, clients))


def look_in_time(group: ProtectionGroup, clients: Clients, silent: Mapping[str, KafkaDrError]) -> None:
    """Learn what the clusters of a group show that answer at once; a dead one is not waited for longer than elsewhere.

    What a step may not do without, it looks up by :func:`look`.

    :param silent: clusters that have just not answered
    """
    known = clients.silent_clusters
    asked = {
        name: known.ask(name, f"the topics of {name}", _question(group, clients, name))
        for name in group.clusters
        if name not in silent
    }
    found = []
    for name, question in asked.items():
        try:
            found.append(question.within(known.seconds(name, FULL_SECONDS)))
        except KafkaDrError:
            continue
    clients.known_topics.learn(group, found, others_of(group, clients))


def seen_on(group: ProtectionGroup, clients: Clients, cluster: str) -> SeenTopics:
    """Ask a cluster which topics the patterns match there, and for which of them DENYs were added.

    :raises KafkaDrError: it does not answer, or is not the declared cluster
    """
    clients.require_declared(cluster)
    names, added = parallel.at_once(
        lambda: clients.cluster(cluster, "operator").topics.names(), lambda: _added_to(group, clients, cluster)
    )
    return SeenTopics.of(group, names, added)


def _added_to(group: ProtectionGroup, clients: Clients, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that were added to a cluster; by the other register's copy if its own one is unusable."""
    try:
        return clients.register(cluster).added_acls(group.name, cluster).current
    except RegisterUnusable as error:
        for other in group.clusters:
            if other != cluster:
                return clients.register(other).added_acls(group.name, cluster).current
        raise error


def first_seen(group: str, clients: Clients) -> dict[str, str]:
    """Return when health first saw each topic that a pattern matches, as it keeps that; empty if it cannot be read.

    It is shown, and nothing follows from it.
    """
    try:
        kept = WatchResultStore(clients.evidence_root).read(group, "health")
    except (OSError, DocumentDamaged):
        return {}
    rows = kept.facts.get("matched_topics", ()) if kept else ()
    return {str(row["topic"]): str(row["since"]) for row in rows if "topic" in row and "since" in row}


def others_of(group: ProtectionGroup, clients: Clients) -> tuple[ProtectionGroup, ...]:
    """Return the other protection groups of the topology."""
    return tuple(each for name, each in clients.topology.protection_groups.items() if name != group.name)


def _question(group: ProtectionGroup, clients: Clients, cluster: str) -> Callable[[], SeenTopics]:
    return lambda: seen_on(group, clients, cluster)
