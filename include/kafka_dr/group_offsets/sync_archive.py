"""Keeps the archive of offset syncs up to date, for each pair of clusters between which groups may move."""

from __future__ import annotations

from itertools import permutations

from kafka_dr.errors import KafkaDrError
from kafka_dr.offsets.syncs.archive import SyncFlow, extend
from kafka_dr.runs.at_rest import WatchOutcome, WatchResult
from kafka_dr.runs.clients import Clients


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


def sync_flow(source: str, target: str, clients: Clients) -> SyncFlow:
    """Return what is archived together: everything that flows from one cluster to another."""
    ids = (clients.topology.cluster(name).cluster_id for name in (source, target))
    return SyncFlow(source, target, *ids)


def _archived(source: str, target: str, clients: Clients) -> str:
    found = extend(
        sync_flow(source, target, clients),
        root=clients.evidence_root,
        source=clients.cluster(source, "audit"),
        target=clients.cluster(target, "audit"),
    )
    if not found.topic_id:
        return f"{source} → {target}: no flow ever wrote in this direction"
    missed = (
        f"; {found.missed} offsets hold no sync any more, so translating offsets there reads more records"
        if found.missed
        else ""
    )
    return f"{source} → {target}: {found.archived} syncs archived, up to {found.reached}{missed}"
