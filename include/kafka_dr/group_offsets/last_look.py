"""Looks at the active cluster while it answers, so that its groups and the loss are known when it no longer does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kafka_dr.clusters import NotFound, OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import other_topics
from kafka_dr.group_offsets.other_topics import ReadElsewhere
from kafka_dr.group_offsets.unmovable_groups import not_moved
from kafka_dr.offsets import FileLookStore, LastLook
from kafka_dr.replication import Flow, committed_positions
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run

#: Records that wait to be copied and are kept one by one, in each partition.
_MOST_WAITING = 1_000
_STALL_SECONDS = 5.0
#: How long groups may take to rebalance; a look is taken every minute, the next one asks again.
_SETTLE_SECONDS = 1.0


def look(context: GroupContext, *, active: str, standby: str, epoch: int) -> LastLook:
    """Look at the active cluster and keep what was seen.

    :raises ClusterUnreachable: a cluster does not answer; what was kept before stays
    """
    found = _seen(context, Flow(context.group.name, active, standby), epoch=epoch)
    FileLookStore(context.clients.evidence_root, context.group.name).write(f"{active}-to-{standby}", found)
    return found


def kept(run: Run, *, source: str, target: str) -> LastLook | None:
    """Return the last look at a cluster that is now dead; ``None`` if nobody ever looked.

    :raises NeedsPerson: what was kept cannot be read
    """
    return FileLookStore(run.clients.evidence_root, run.group.name).read(f"{source}-to-{target}")


def crossed(context: GroupContext, flow: Flow) -> Mapping[TopicPartition, int]:
    """Return, by partition, up to where a flow has copied its source, as the Connect cluster of its target keeps it.

    :raises NotFound: Connect keeps its positions elsewhere
    """
    topic = context.clients.topology.cluster(flow.target).connect_positions_topic
    return committed_positions(context.operator(flow.target), topic, flow, stall_seconds=_STALL_SECONDS)


def _seen(context: GroupContext, flow: Flow, *, epoch: int) -> LastLook:
    source = context.operator(flow.source)
    at: datetime = context.clock.now()
    groups = source.groups.offsets(context.moved_groups(flow.source), require_stable=False)
    ends = source.topics.last_stable_offsets(context.partitions(flow.source))
    try:
        copied = crossed(context, flow)
    except NotFound:
        copied = {}
    starts = source.topics.log_starts(ends)
    tails = {p: OffsetRange(max(starts[p], min(copied[p], end)), end) for p, end in ends.items() if p in copied}
    tails = {p: OffsetRange(tail.start, min(tail.end, tail.start + _MOST_WAITING)) for p, tail in tails.items()}
    waiting: dict[TopicPartition, list[int]] = {}
    for record in source.log.read({p: tail for p, tail in tails.items() if len(tail)}):
        waiting.setdefault(record.topic_partition, []).append(record.offset)
    # Last: if the source stops answering now, what only it knows was read before.
    beyond = _read_elsewhere(context, flow.source)
    return LastLook(
        epoch=epoch,
        at=at,
        ends=ends,
        groups={
            group: {p: offset for p, offset in offsets.items() if context.group.owns_topic(p.topic)}
            for group, offsets in groups.items()
        },
        waiting={p: tuple(offsets) for p, offsets in waiting.items()},
        more_than_offsets=_more_than_offsets(context, flow.source),
        elsewhere=beyond.rows,
        elsewhere_unknown=beyond.unknown,
    )


def _read_elsewhere(context: GroupContext, active: str) -> ReadElsewhere:
    try:
        return other_topics.look(context, active, seconds=_SETTLE_SECONDS)
    except KafkaDrError as error:
        return ReadElsewhere((), (f"what its groups read elsewhere could not be asked: {error}",))


def _more_than_offsets(context: GroupContext, active: str) -> tuple[str, ...]:
    try:
        return tuple(each.sentence for each in not_moved(context, active))
    except KafkaDrError as error:
        return (f"whether a group is more than its offsets could not be asked: {error}",)
