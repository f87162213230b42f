"""How far groups have certainly read the topics of other clusters, by what they had read in a lost cluster's copies.

Where copies have other names, groups have read copies on the lost cluster, too, and the cluster that made the originals
may well be there. Each offset sync of the flow from there is a record and its copy: whoever had read the copy continues
after the record. The target has the originals, or copies of its own, to which the syncs of another flow lead.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import last_known
from kafka_dr.group_offsets.sync_archive import archive_of
from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.offsets.syncs.archive import archived_and_newer
from kafka_dr.offsets.syncs.history import ArchivedSyncs
from kafka_dr.positions import Committed, OffsetPair, TopicPartition
from kafka_dr.runs.run import Run


def read_in_copies(run: Run, transfer: PositionTransfer, committed: Committed) -> dict[str, dict[TopicPartition, int]]:
    """Return next to read on the target by group and partition, by the names of the originals: never too far.

    :param transfer: from copies on the source to what the target has
    :param committed: what groups have committed on the source
    """
    owns, seen = run.group.owns_topic, last_known.look(run)
    read = transfer.of_groups(committed, owns)
    wanted = {p for offsets in read.values() for p in offsets}
    if seen is None or not wanted:
        return {}
    there = {p.topic: seen.ids_of_copies.get(transfer.at_source(p).topic, "") for p in wanted}
    copied = _to_originals(run, transfer, {topic: each for topic, each in there.items() if each})
    onward = _to_copies_of_target(run, transfer, copied.histories.keys()) if transfer.on_target else None
    found: dict[str, dict[TopicPartition, int]] = {}
    for group, offsets in read.items():
        for p, offset in offsets.items():
            at = after([pair.reversed for pair in copied.of(p).pairs], offset)
            if onward is not None:
                at = after(onward.of(p).pairs, at)
            found.setdefault(group, {})[p] = at
    return found


def after(pairs: Sequence[OffsetPair], position: int) -> int:
    """Return where somebody continues in one log who has read everything before a position of the other one. Pure.

    :param pairs: records with their copies, rising in both logs
    :param position: next to read on the source of the pairs
    :returns: next to read on their target; 0 where no pair says more
    """
    number = bisect_right(pairs, position, key=lambda pair: pair.source)
    if not number:
        return 0
    pair = pairs[number - 1]
    return pair.target + (pair.source < position)


def _to_originals(run: Run, transfer: PositionTransfer, copies: Mapping[str, str]) -> ArchivedSyncs:
    """Return the archived syncs of the flow that made the copies on the source.

    :param copies: their ids, by the names of the originals
    """
    originals = _ids(run, transfer.origin, copies)
    archive = archive_of(transfer.origin, run.source, run.clients, root=run.evidence_root)
    return archive.read(copies, topic_ids={name: (originals.get(name, ""), each) for name, each in copies.items()})


def _to_copies_of_target(run: Run, transfer: PositionTransfer, wanted: Collection[TopicPartition]) -> ArchivedSyncs:
    """Return the syncs of the flow that makes the copies on the target."""
    topics = transfer.target_of(run, "audit").topics
    ids = {name: topic.topic_id for name, topic in topics.existing({p.topic for p in wanted}).items()}
    archive = archive_of(transfer.origin, run.target, run.clients, root=run.evidence_root)
    return archived_and_newer(
        archive, {name: ("", each) for name, each in ids.items()}, target=run.clients.cluster(run.target, "audit")
    )


def _ids(run: Run, cluster: str, topics: Collection[str]) -> dict[str, str]:
    """Return the ids of topics on a cluster; of one that does not answer they are not compared."""
    if cluster in run.silent:
        return {}
    try:
        return {name: each.topic_id for name, each in run.operator(cluster).topics.existing(topics).items()}
    except KafkaDrError:
        return {}
