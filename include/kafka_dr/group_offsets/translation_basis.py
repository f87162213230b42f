"""What a run knows of offsets before a record is read, looked up here for all that translates or compares them.

The journal knows where each direction of replication began, and what is quarantined; the verified frontier, how far
records are equal. Audits keep offset maps, and MirrorMaker writes offset syncs. Earlier translations keep pairs.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.audit.kept_frontier import FileFrontierStore
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.group_offsets.taken_over_copies import taken_over_copies
from kafka_dr.group_offsets.transfers import PositionTransfer, along_flow
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.read_logs import Ignored
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import FlowSeed, all_seeds
from kafka_dr.register.port import History
from kafka_dr.register.quarantine import QUARANTINE, by_partition, quarantined
from kafka_dr.runs.recorded_files import recorder
from kafka_dr.runs.run import Run


def basis_of(run: Run, transfer: PositionTransfer | None = None) -> TranslationBasis:
    """Look up what translations from a run's source to its target rest on.

    What they learn is not stored, because applications may wait for them; see :func:`keeping_basis_of`.

    :param transfer: between which logs; along the run's flow where ``None``
    """
    found = replace(basis_of_facts(run, transfer), taken_over=taken_over_copies(run, valid_seeds(run, transfer)))
    if transfer is not None and not transfer.follows_flow:
        # The frontier of the run is about the other logs.
        return replace(found, seeds=seeds(run, transfer), ignored=ignored_ranges(run, transfer))
    return replace(found, seeds=_seeds_and_frontier(run), ignored=ignored_ranges(run))


def basis_of_facts(run: Run, transfer: PositionTransfer | None = None) -> TranslationBasis:
    """Return the same without what journal and frontier know: enough to gather facts, and nothing is read yet."""
    # One translation looks at both clusters several times: each look costs seconds where there are many partitions.
    transfer = transfer or along_flow(run)
    source, target = (end(run, "audit").remembering_topics() for end in (transfer.source_of, transfer.target_of))
    source_id, target_id = (run.clients.topology.cluster(name).cluster_id for name in (run.source, run.target))
    root, group = run.evidence_root, run.group.name
    return TranslationBasis(
        source,
        target,
        syncs=SyncLookup(source, target, root=root, cluster_ids=(source_id, target_id)),
        maps=MapStore(
            root, group, source=(run.source, source_id), target=(run.target, target_id), others=_further(run)
        ),
        cache=AnchorCache(root, group),
        proven=run.clients.proven_answers,
        origin="" if transfer.follows_flow else transfer.origin,
    )


def _further(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the clusters of the group that the run does not concern: they hold the same records, or have held them."""
    further = (name for name in run.declared.clusters if name not in (run.source, run.target))
    return tuple((name, run.clients.topology.cluster(name).cluster_id) for name in further)


def keeping_basis_of(run: Run, transfer: PositionTransfer | None = None) -> TranslationBasis:
    """Look up the same for a translation that no application waits for: the pairs that it learns are kept."""
    basis = basis_of(run, transfer)
    # A dry run writes to no register, so it cannot record a digest.
    if run.request.dry_run:
        return basis
    # A source that may be dead is not waited for.
    also = () if run.silent or run.request.verb == "unplanned_failover" else (run.source,)
    record = recorder(run.clients, needed_on=run.target, also_on=also)
    return replace(basis, cache=replace(basis.cache, record=record), keeps=True)


def seeds(run: Run, transfer: PositionTransfer | None = None) -> dict[TopicPartition, list[SeedPoint]]:
    """Return every point where a direction began, seen from this run's source; journaled by earlier runs.

    :param transfer: between which logs; along the run's flow where ``None``
    """
    found: dict[TopicPartition, list[SeedPoint]] = {}
    for seed in valid_seeds(run, transfer):
        for partition, point in seed.points.items():
            found.setdefault(partition, []).append(point if seed.source == run.source else point.reversed)
    return found


def valid_seeds(run: Run, transfer: PositionTransfer | None = None) -> list[FlowSeed]:
    """Return the seeds between this run's two clusters whose logs are still those that the clusters have.

    :param transfer: between which logs; along the run's flow where ``None``
    """
    # Where a cluster was copied again, what was known of the topics before does not count.
    origin = run.source if transfer is None else transfer.origin
    history, clusters = run.history_of_flows(origin), {run.source, run.target}
    rebuilt, found = _last_rebuild(run, history), all_seeds(history)
    if not run.opens_copy:
        # Before the group was adopted with these names, the same topics may have been copies of one another.
        adopted = max((seed.epoch for seed in found if seed.mode is not None), default=0)
        found = [seed for seed in found if seed.epoch >= adopted and seed.source == origin]
    return [seed for seed in found if {seed.source, seed.target} == clusters and seed.epoch >= rebuilt]


def ignored_ranges(run: Run, transfer: PositionTransfer | None = None) -> tuple[Ignored, Ignored]:
    """Return what failbacks have quarantined on source and target: it is neither copied nor a copy.

    Where copies have other names, only originals hold such records.

    :param transfer: between which logs; along the run's flow where ``None``
    """
    origin = run.source if transfer is None else transfer.origin
    history = run.history_of_flows(origin)
    if not any(QUARANTINE in facts for facts in history.values()):
        return {}, {}
    on_source, on_target = (
        _quarantined_on(run, end, history) if run.opens_copy or end == origin else {}
        for end in (run.source, run.target)
    )
    return on_source, on_target


def _quarantined_on(run: Run, cluster: str, history: History) -> Ignored:
    found = by_partition(quarantined(history, cluster, run.topic_ids(cluster)))
    return {p: [OffsetRange(each.start, each.end) for each in ranges] for p, ranges in found.items()}


def _seeds_and_frontier(run: Run) -> dict[TopicPartition, list[SeedPoint]]:
    found = seeds(run)
    frontier = FileFrontierStore(run.evidence_root, run.group.name).read(f"{run.source}-to-{run.target}")
    # A frontier of a cluster that was copied again since says nothing about the records that it holds now.
    if frontier is not None and frontier.identity[2] >= _last_rebuild(run, run.history):
        for (topic, number), point in frontier.points.items():
            reached = SeedPoint(point.source_offset, point.target_offset)
            found.setdefault(TopicPartition(topic, number), []).append(reached)
    return found


def _last_rebuild(run: Run, history: History) -> int:
    """Return the epoch in which one of this run's clusters was last copied again from nothing; 0 where none was."""
    rebuilds = (facts["rebuild"] for facts in history.values() if "rebuild" in facts)
    return max((int(each["epoch"]) for each in rebuilds if each["cluster"] in (run.source, run.target)), default=0)
