"""Whether a flow makes progress. A connector can be RUNNING forever and copy nothing, so only progress counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.waiting import wait_until

Ends = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Moving:
    """What two looks at a flow's positions say.

    :param verdict: ``moves``: all that waited has advanced; ``idle``: nothing waited; ``stuck``: something waited and
        did not advance; ``waits``: what is left waits for the end of open transactions; ``unknown``: the looks say
        nothing
    """

    verdict: Literal["moves", "idle", "waits", "stuck", "unknown"]
    detail: str


def flow_moves(before: Ends, after: Ends, ends: Ends) -> Moving:
    """Judge a flow by its progress between two looks.

    :param before: next to copy at the first look; a partition without a position has copied nothing
    :param after: the same at the second look
    :param ends: up to where there is something to copy since the first look or earlier, as :func:`data_ends` says
    """
    if not ends:
        return Moving("unknown", "the source shows no partition of this flow")
    back = sorted(p for p in ends if after.get(p, 0) < before.get(p, 0))
    if back:
        return Moving("unknown", f"positions went back at {_named(back)}: they are being set at this moment")
    waiting = {p for p, end in ends.items() if before.get(p, 0) < end}
    still = sorted(p for p in waiting if after.get(p, 0) == before.get(p, 0))
    if still:
        left = sum(ends[p] - before.get(p, 0) for p in still)
        many = counted(left, "record waits", "records wait")
        return Moving("stuck", f"{_named(still)} did not advance although up to {many} to be copied")
    if not waiting:
        return Moving("idle", f"nothing waits to be copied in {counted(len(ends), 'partition')}")
    advanced = sum(after.get(p, 0) - before.get(p, 0) for p in waiting)
    return Moving("moves", f"advanced by {advanced} offsets in {counted(len(waiting), 'partition')}")


def flow_moves_in_turns(
    before: Ends, look: Callable[[], Ends], ends: Ends, *, clock: Clock, seconds: float, pause_seconds: float
) -> Moving:
    """Judge a flow by its progress since the first look; as long as it advances anywhere, each partition gets its turn.

    A flow that catches up in thousands of partitions does not get to each of them within a second.

    :param look: returns what is next to copy, now
    :param seconds: how long a partition may wait for its turn while others advance
    """

    def judged() -> tuple[Moving, bool]:
        after = look()
        return flow_moves(before, after, ends), any(after.get(p, 0) > before.get(p, 0) for p in ends)

    found, _ = wait_until(
        judged,
        lambda seen: seen[0].verdict != "stuck" or not seen[1],
        clock=clock,
        seconds=seconds,
        pause_seconds=pause_seconds,
    )
    return found


def data_ends(source: KafkaCluster, positions: Ends, ends: Ends) -> dict[TopicPartition, int]:
    """Return the ends, lowered to the flow's position if only control or aborted records are between the two.

    :param positions: next to copy, by partition
    :param ends: the source's last stable offsets
    """
    starts = source.topics.log_starts(ends)
    waiting = {
        p: OffsetRange(max(positions.get(p, 0), starts[p]), end)
        for p, end in ends.items()
        if max(positions.get(p, 0), starts[p]) < end
    }
    with_data: set[TopicPartition] = set()
    for record in source.log.read(waiting):
        with_data.add(record.topic_partition)
        if len(with_data) == len(waiting):
            break
    return {p: end if p in with_data else min(end, positions.get(p, 0)) for p, end in ends.items()}


def _named(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:3]))
    return shown + (f" and {len(partitions) - 3} more" if len(partitions) > 3 else "")
