"""How long a failover stopped writes: what the journal knows for certain, and what the logs show.

From the fence to the opening of the target nobody could write; that is certain. Applications need longer, as they have
to find the new active cluster. The pause in a log shows that, but only of a partition that was being written when the
fence came: an earlier pause is that of an idle application. As long as one pause has not ended, the outage is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.named_rows import positions_from_json
from kafka_dr.runs import admitted_writes
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: Control records take offsets, too, so the last data record may be a few offsets before the end.
_LOOK_BACK = 200

#: When each partition was last or first written, in seconds since the epoch, by the records' timestamps. ``None`` if
#: only control records and aborted records were found, and there are more records before them.
LastWrites = Mapping[TopicPartition, float | None]
FirstWrites = Mapping[TopicPartition, float]


@dataclass(frozen=True, slots=True)
class WriteOutage:
    """How long writes were not possible.

    :param refused_seconds: from the fence of the source to the opening of the target, as journaled
    :param seen_seconds: the longest pause of the partitions that were being written; ``None`` if it is unknown, or if
        none was being written
    :param known: whether every partition that was being written is written again
    :param detail: one sentence
    """

    refused_seconds: float
    seen_seconds: float | None
    known: bool
    detail: str

    @property
    def seconds(self) -> float | None:
        """The outage in seconds, at least the time in which both clusters refused writes; ``None`` if unknown."""
        return max(self.refused_seconds, self.seen_seconds or 0.0) if self.known else None


def measured(run: Run) -> WriteOutage:
    """Measure the outage; wait for writes on the new active cluster as long as the objective could still be met.

    :raises KafkaDrError: the target does not answer; if the source does not, the outage is unknown
    """
    begun = datetime.fromisoformat(run.fact("fence_begun")["at"])
    refused, promised = (admitted_writes.began(run) - begun).total_seconds(), run.group.objectives.write_outage_seconds
    try:
        last = _last_writes(run)
    except KafkaDrError as error:
        detail = f"it is unknown what was being written on {run.source} when it was fenced: {error}"
        return WriteOutage(round(refused, 3), None, known=False, detail=detail)
    fence = begun.timestamp()
    busy = being_written(last, fence=fence, recent_seconds=promised)
    first = _first_writes(run, busy, until=fence + promised) if busy else {}
    return judge(last, first, busy, refused_seconds=refused)


def being_written(last: LastWrites, *, fence: float, recent_seconds: float) -> frozenset[TopicPartition]:
    """Return the partitions whose last record is so recent that the fence may have ended the writing.

    A partition of which this is unknown is included.

    :param fence: when the fence began, in seconds since the epoch
    """
    return frozenset(p for p, at in last.items() if at is None or at >= fence - recent_seconds)


def judge(
    last: LastWrites, first: FirstWrites, busy: Collection[TopicPartition], *, refused_seconds: float
) -> WriteOutage:
    """Return how long the outage was, from the last write before it and the first write after it.

    :param busy: the partitions that were being written
    :param refused_seconds: from the fence of the source to the opening of the target
    """
    refused = round(refused_seconds, 3)
    if not busy:
        return WriteOutage(refused, None, known=True, detail="nothing was being written when the source was fenced")
    missing = sorted(p for p in busy if p not in first or last[p] is None)
    if missing:
        shown = ", ".join(map(str, missing[:5]))
        detail = f"{len(missing)} of {len(busy)} partitions that were being written are not written again yet: {shown}"
        return WriteOutage(refused, None, known=False, detail=detail)
    pauses = {p: first[p] - (last[p] or 0.0) for p in busy}
    longest = max(pauses, key=lambda partition: pauses[partition])
    many = counted(len(busy), "partition that was", "partitions that were")
    detail = f"the longest pause of {many} being written was that of {longest}"
    return WriteOutage(refused, round(pauses[longest], 3), known=True, detail=detail)


def _last_writes(run: Run) -> dict[TopicPartition, float | None]:
    """Return when each partition that has records was last written on the source before its fenced end."""
    ends = _without_canary(run, positions_from_json(run.fact("source_ends")["ends"]))
    starts = run.operator(run.source).topics.log_starts(ends)
    ranges = {p: OffsetRange(max(starts[p], end - _LOOK_BACK), end) for p, end in ends.items() if end > starts[p]}
    found: dict[TopicPartition, float | None] = {p: None for p, wanted in ranges.items() if wanted.start > starts[p]}
    for record in run.clients.cluster(run.source, "audit").log.read(ranges):
        found[record.topic_partition] = record.timestamp_ms / 1000
    return found


def _first_writes(run: Run, busy: Collection[TopicPartition], *, until: float) -> dict[TopicPartition, float]:
    """Return when each of these partitions was first written on the target after the flow ended there.

    :param until: how long to wait for a write, in seconds since the epoch
    """
    all_ends = positions_from_json(run.fact("target_ends")["ends"])
    ends = {p: all_ends.get(p, 0) for p in busy}
    topics, log = run.operator(run.target).topics, run.clients.cluster(run.target, "audit").log
    found: dict[TopicPartition, float] = {}

    def look() -> dict[TopicPartition, float]:
        now = topics.high_watermarks(ends.keys() - found.keys())
        grown = {p: OffsetRange(ends[p], min(end, ends[p] + _LOOK_BACK)) for p, end in now.items() if end > ends[p]}
        # A write counts that is part of an open transaction: readers of committed records would wait for its end.
        for record in log.read(grown, isolation="read_uncommitted"):
            found.setdefault(record.topic_partition, record.timestamp_ms / 1000)
        return found

    seconds = until - run.clock.now().timestamp()
    return wait_until(look, lambda seen: len(seen) == len(ends), clock=run.clock, seconds=seconds)


def _without_canary(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {p: end for p, end in ends.items() if p.topic != run.group.canary_topic}
