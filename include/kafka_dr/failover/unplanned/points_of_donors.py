"""Where offsets of the lost cluster are among the records that were fetched: by the donor, which has copied them.

The donor's flow has written offset syncs: which offset of the lost log is which one of the donor's. Content says where
that is in the log of the target. So a group that has read a part of what was fetched begins near its record, however
much that was. Without such a point it begins where the target's own copy ended, and reads all of it again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import last_known
from kafka_dr.failover.unplanned.fetch_writing import ledger_of
from kafka_dr.group_offsets.sync_archive import archive_of
from kafka_dr.offsets.syncs.archive import archived_and_newer
from kafka_dr.offsets.translate.by_content import begin, finish
from kafka_dr.offsets.translate.read_logs import held_by, read_both
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import OffsetPair, SeedPoint
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long that may take, in seconds: applications wait.
_SECONDS = 10.0
Points = Mapping[TopicPartition, Sequence[SeedPoint]]


def points_of_donors(run: Run, reached: CopyReached, offsets: Mapping[TopicPartition, Collection[int]]) -> Points:
    """Return where the lost log and the target's correspond, near offsets among what was fetched; none if unknown.

    :param offsets: next to read on the lost cluster, by partition
    """
    wanted = {
        p: [offset for offset in offsets.get(p, ()) if offset > point.source] for p, point in reached.before.items()
    }
    wanted = {p: found for p, found in wanted.items() if found}
    if not wanted:
        return {}
    try:
        return background.ask("the syncs of donors", partial(_points, run, wanted), seconds=_SECONDS)
    except KafkaDrError:
        return {}


def _points(run: Run, wanted: Mapping[TopicPartition, Collection[int]]) -> Points:
    ledger = ledger_of(run)
    found: dict[TopicPartition, list[SeedPoint]] = {}
    for donor in sorted({ledger[p].donor for p in wanted}):
        mine = {p: each for p, each in wanted.items() if ledger[p].donor == donor}
        here, there = (run.clients.cluster(name, "audit") for name in (donor, run.target))
        ids = {name: ("", topic.topic_id) for name, topic in here.topics.describe({p.topic for p in mine}).items()}
        archive = archive_of(run.source, donor, run.clients, root=run.evidence_root)
        syncs = archived_and_newer(archive, ids, target=here).syncs
        since = last_known.flow_start(run, to=donor).since
        since_ms = int(since.timestamp() * 1000) if since else 0
        near = {
            p: around(
                each,
                (
                    OffsetPair(sync.source, sync.target)
                    for sync in syncs.get(p, ())
                    if sync.synced_ms >= since_ms and sync.target < ledger[p].next_offset
                ),
            )
            for p, each in mine.items()
        }
        near = {p: pairs for p, pairs in near.items() if pairs}
        logs, copies = parallel.at_once(partial(held_by, here, near), partial(held_by, there, near))
        held = {p: RangePair(OffsetRange(logs[p].start, ledger[p].next_offset), copies[p]) for p in near}
        searches = begin({p: [pair.target for pair in pairs] for p, pairs in near.items()}, held, {p: [] for p in near})
        finish(searches, partial(read_both, here, there))
        for p, pairs in near.items():
            sources = {pair.target: pair.source for pair in pairs}
            for each in searches.get(p, ()):
                if each.is_exact and each.result is not None and each.result.target_offset is not None:
                    source, target = sources[each.position], each.result.target_offset
                    found.setdefault(p, []).extend((SeedPoint(source, target), SeedPoint(source + 1, target + 1)))
    return found


def around(offsets: Iterable[int], pairs: Iterable[OffsetPair]) -> list[OffsetPair]:
    """Return the nearest pairs at or below offsets, and above them. Pure.

    :param offsets: of the lost log
    :param pairs: offsets of records in the lost log and in the donor's
    """
    known = sorted(pairs)
    found = set()
    for offset in offsets:
        below = bisect_right(known, offset, key=lambda pair: pair.source) - 1
        above = bisect_left(known, offset + 1, key=lambda pair: pair.source)
        found |= {known[at] for at in (below, above) if 0 <= at < len(known)}
    return sorted(found)
