"""Send canaries and wait for them. ``canary.verdict`` judges them, without Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from kafka_dr.canary.record import ORIGIN_DC, Canary, CanaryFlow, SeenCanary, SentCanary, next_canary
from kafka_dr.canary.verdict import CanaryVerdict, judge
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: How many offsets at the end of each log are read; control records between canaries occupy some of them.
_LOOK_BACK = 500
#: How long to wait until a written record can be read back, in seconds.
_BACK_SECONDS = 5.0

_Found = TypeVar("_Found", SentCanary, SeenCanary)


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """One look at a flow.

    :param at: when the target was read last, UTC
    :param sent: how many canaries were sent, one for each partition
    :param arrived: how many of them were seen on the target before the wait was over
    :param seconds: how long the slowest of those took; ``None`` if none arrived
    :param verdict: of these canaries and the ones before them
    """

    flow: CanaryFlow
    at: datetime
    sent: int
    arrived: int
    seconds: float | None
    verdict: CanaryVerdict


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Records that were written to a cluster and read back from it.

    :param records: how many, one for each partition
    :param seconds: from the first write until the last was read
    """

    origin: str
    records: int
    seconds: float


def run_canary(
    flow: CanaryFlow,
    *,
    topic: str,
    publisher: KafkaCluster,
    source: KafkaCluster,
    target: FlowCluster,
    clock: Clock,
    late_after: timedelta,
    wait_seconds: float = 5.0,
) -> CanaryReport:
    """Send a canary to every partition of the source, wait for them on the target, and judge both logs.

    :param publisher: the source, reached as probe
    :param source: the source, reached as audit
    :param target: the target under the names of the source, reached as audit: the probe may be denied on it
    :param wait_seconds: how long to wait for what was just sent; a canary that has not arrived by then is not late yet
    """
    partitions = source.topics.describe([topic])[topic].partitions
    before = _on(source, partitions, SentCanary)
    fresh = {p: next_canary(flow, p.partition, on_source=before, now=clock.now()) for p in partitions}
    sent = [*before, *_publish(publisher, fresh)]
    arrivals = _wait(target, fresh, clock=clock, wait_seconds=wait_seconds)
    seen = [_stamped(each, topic, fresh, arrivals) for each in _on(target, partitions, SeenCanary)]
    now = clock.now()
    delays = [(at - fresh[p].at).total_seconds() for p, at in arrivals.items()]
    verdict = judge(
        flow,
        sent,
        seen,
        partitions=[p.partition for p in partitions],
        now=now,
        late_after=late_after,
        complete=[
            p.partition for p, held in _ends(target, partitions).items() if held.start == 0 and held.end <= _LOOK_BACK
        ],
    )
    return CanaryReport(
        flow,
        at=now,
        sent=len(fresh),
        arrived=len(delays),
        seconds=round(max(delays), 3) if delays else None,
        verdict=verdict,
    )


def round_trip(cluster: KafkaCluster, topic: str, *, origin: str, clock: Clock) -> RoundTrip:
    """Write a record to every partition of a topic and read each of them back.

    The records are no canaries: they have no number, and no verdict on a flow counts them.

    :param cluster: reached as probe, over the listener that applications use
    :raises TryAgain: one of them could not be read back before the deadline
    """
    began = clock.monotonic()
    partitions = cluster.topics.describe([topic])[topic].partitions
    mark = f"round trip {clock.now().isoformat()}".encode()
    headers = ((ORIGIN_DC, origin.encode()),)
    # A record that is written twice does no harm.
    written = cluster.writing.append((NewRecord(p, mark, mark, headers) for p in partitions), idempotent=False)
    offsets = dict(zip(partitions, written, strict=True))

    def unread() -> set[TopicPartition]:
        read = cluster.log.read({p: OffsetRange(offset, offset + 1) for p, offset in offsets.items()})
        return offsets.keys() - {record.topic_partition for record in read if record.key == mark}

    left = _BACK_SECONDS - (clock.monotonic() - began)
    missing = wait_until(unread, lambda found: not found, clock=clock, seconds=left, pause_seconds=SHORT_PAUSE_SECONDS)
    if missing:
        shown = ", ".join(map(str, sorted(missing)))
        raise TryAgain(
            f"records written to {shown} on {cluster.name} cannot be read back after {duration(_BACK_SECONDS)}"
        )
    return RoundTrip(origin, len(offsets), round(clock.monotonic() - began, 3))


def _publish(publisher: KafkaCluster, canaries: Mapping[TopicPartition, Canary]) -> list[SentCanary]:
    offsets = publisher.writing.append(
        NewRecord(p, canary.key, canary.value, tuple(canary.headers), round(canary.at.timestamp() * 1000))
        for p, canary in canaries.items()
    )
    return [
        SentCanary(p.partition, offset, canary) for (p, canary), offset in zip(canaries.items(), offsets, strict=True)
    ]


def _wait(
    target: FlowCluster, wanted: Mapping[TopicPartition, Canary], *, clock: Clock, wait_seconds: float
) -> dict[TopicPartition, datetime]:
    """Return when the wanted canary of each partition was first seen on the target."""
    arrivals: dict[TopicPartition, datetime] = {}

    def look() -> dict[TopicPartition, datetime]:
        waiting = [p for p in wanted if p not in arrivals]
        found = {(seen.partition, seen.canary) for seen in _on(target, waiting, SeenCanary)}
        now = clock.now()
        arrivals.update({p: now for p in waiting if (p.partition, wanted[p]) in found})
        return arrivals

    return wait_until(
        look,
        lambda seen: len(seen) == len(wanted),
        clock=clock,
        seconds=wait_seconds,
        pause_seconds=SHORT_PAUSE_SECONDS,
    )


def _on(cluster: FlowCluster, partitions: Collection[TopicPartition], kind: type[_Found]) -> list[_Found]:
    """Return the canaries at the end of a cluster's log."""
    ranges = {
        p: OffsetRange(max(held.start, held.end - _LOOK_BACK), held.end)
        for p, held in _ends(cluster, partitions).items()
    }
    parsed = ((record, Canary.parse(record.value, record.headers)) for record in cluster.log.read(ranges))
    return [kind(record.partition, record.offset, canary) for record, canary in parsed if canary is not None]


def _ends(cluster: FlowCluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    wanted = list(partitions)
    starts, ends = cluster.topics.log_starts(wanted), cluster.topics.last_stable_offsets(wanted)
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in wanted}


def _stamped(
    seen: SeenCanary, topic: str, fresh: Mapping[TopicPartition, Canary], arrivals: Mapping[TopicPartition, datetime]
) -> SeenCanary:
    """Add when the canary was seen to arrive, if it was waited for."""
    partition = TopicPartition(topic, seen.partition)
    at = arrivals.get(partition) if fresh.get(partition) == seen.canary else None
    return SeenCanary(seen.partition, seen.offset, seen.canary, at)
