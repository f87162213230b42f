"""Keeps the archive of offset syncs up to date, for each pair of clusters between which groups may move."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

from kafka_dr.clusters.renamed import seen_as
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import Recorder, not_recorded
from kafka_dr.offsets.syncs.archive import extend
from kafka_dr.offsets.syncs.files import SyncArchive
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.recorded_files import known_files, recorder, with_recorded_only
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import WatchOutcome


@dataclass(frozen=True, slots=True)
class CopiesOfGroups:
    """What copies are called on one cluster, each as the protection group names it that owns its original.

    The flows of all groups between two clusters write to one topic of syncs, whatever they call their copies.
    """

    source: str
    target: str
    topology: Topology

    @property
    def checkpoints_topic(self) -> str | None:
        """Not known: each group may name it otherwise."""
        return None

    def copy_of(self, topic: str) -> str | None:
        """Return the name that its group gives to the copy; the same one if no group owns the topic."""
        owners = (each for each in self.topology.protection_groups.values() if each.owns_topic(topic))
        named = (each.naming(self.source, self.target) for each in owners if self.target in each.clusters)
        naming = next(named, None)
        return topic if naming is None else naming.copy_of(topic)

    def original_of(self, topic: str) -> str | None:
        """Not asked of syncs, which have the names of originals."""
        return None


def archive_syncs(group: str, clients: Clients) -> WatchResult:
    """Archive the offset syncs of both directions of a protection group's clusters.

    All flows between two clusters share their topic of syncs, so groups with the same clusters share the archive; the
    second one finds nothing left to do. Nothing is changed on any cluster, so it does not matter whether a run moves
    the group.
    """
    outcome: WatchOutcome = "ok"
    sentences = []
    for source, target in permutations(clients.topology.group(group).clusters, 2):
        try:
            sentences.append(_archived(source, target, clients))
        except KafkaDrError as error:
            outcome = "unknown"
            sentences.append(f"{source} → {target}: its newest syncs are not archived: {error}")
    return WatchResult(group, outcome, tuple(sentences))


def archive_of(
    source: str, target: str, clients: Clients, *, root: Any = None, record: Recorder = not_recorded
) -> SyncArchive:
    """Return the archive of what flows from one cluster to another.

    :param root: ``None``: the evidence root
    :param record: records the digest of each file before it is written, and when it is gone
    """
    source_id, target_id = (clients.topology.cluster(name).cluster_id for name in (source, target))
    root = clients.evidence_root if root is None else root
    return SyncArchive(root, source=source, target=target, cluster_ids=(source_id, target_id), record=record)


def _archived(source: str, target: str, clients: Clients) -> str:
    archive = archive_of(
        source,
        target,
        clients,
        # What others wrote is neither continued nor joined with what is recorded; it is read again from the topic.
        root=with_recorded_only(clients.evidence_root, known_files(clients, target)),
        record=recorder(clients, needed_on=target, also_on=(source,)),
    )
    copies = seen_as(clients.cluster(target, "audit"), CopiesOfGroups(source, target, clients.topology))
    found = extend(archive, source=clients.cluster(source, "audit"), target=copies)
    if not found.topic_id:
        return f"{source} → {target}: no flow ever wrote in this direction"
    missed = (
        f"; {counted(found.missed, 'offset holds', 'offsets hold')} no sync any more, so translating offsets "
        f"there reads more records"
        if found.missed
        else ""
    )
    return f"{source} → {target}: {found.archived} syncs archived, up to {found.reached}{missed}"
