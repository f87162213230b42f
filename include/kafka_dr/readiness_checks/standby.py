"""Whether the standby could take over the load: brokers, racks, in-sync replicas, free space, and partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil

from kafka_dr import parallel
from kafka_dr.clusters import KafkaCluster, OffsetRange, Topic, TopicPartition
from kafka_dr.clusters.capacity import BrokerCapacity, PartitionReplicas
from kafka_dr.counted import counted
from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks.client_quotas import not_throttled, not_throttled_if_lost
from kafka_dr.readiness_checks.growth import room_for_retention
from kafka_dr.runs.run import Run

#: Below this share of free space, or of partitions that are left, a broker is named.
_LOW = 0.1
_SHOWN = 3
_GIB = 1 << 30


def brokers_as_many(run: Run) -> Check:
    """Return whether the target has as many brokers and racks as the source; fewer carry more load each."""
    source, target = parallel.at_once(*(partial(_brokers, run, name) for name in (run.source, run.target)))
    less = [
        f"{run.target} has {len(on_target)} {what}, {run.source} has {len(on_source)}"
        for what, on_source, on_target in (("brokers", source, target), ("racks", _racks(source), _racks(target)))
        if len(on_target) < len(on_source)
    ]
    if less:
        detail = f"{'; '.join(less)}: find out whether it can carry the load"
        return Check("standby_brokers", "warning", detail)
    racks = len(_racks(target))
    many = counted(len(target), "broker")
    return Check("standby_brokers", "ok", f"{run.target} has {many} in {racks or 'no declared'} racks")


def writes_would_be_accepted(run: Run) -> Check:
    """Return whether each partition on the target has the in-sync replicas that its topic asks for.

    Producers with ``acks=all`` are refused by a partition with fewer (``min.insync.replicas``).
    """
    name, target = "standby_in_sync", run.operator(run.target)
    topics = run.read_cache.topics(run.target)
    replicas, described = parallel.at_once(
        partial(target.capacity.replicas, topics), partial(target.configs.describe, topics)
    )
    if described.errors:
        error = next(iter(described.errors.values()))
        many = counted(len(described.errors), "topic")
        return Check(name, "unknown", f"the configuration of {many} cannot be read: {error}")
    asked = {topic: int(values["min.insync.replicas"].value or 1) for topic, values in described.configs.items()}
    too_few = sorted(p for p, found in replicas.items() if found.in_sync < asked.get(p.topic, 1))
    if too_few:
        shown = ", ".join(_in_words(p, replicas[p], asked[p.topic]) for p in too_few[:_SHOWN])
        many = counted(len(too_few), "partition")
        detail = f"{many} on {run.target} would refuse writes: {shown}. Bring its brokers up"
        return Check(name, "failed", detail)
    many = counted(len(replicas), "partition has", "partitions have")
    return Check(name, "ok", f"on {run.target} {many} enough in-sync replicas")


def room_for_the_rest(run: Run) -> Check:
    """Return whether what the target does not hold yet fits on its disks, and name brokers with little free space."""
    name = "standby_space"
    source, target = run.operator(run.source), run.operator(run.target)
    brokers = target.capacity.brokers()
    silent = [each.broker for each in brokers if each.usable_bytes is None]
    if silent:
        return Check(name, "unknown", f"brokers {silent} of {run.target} do not say how much space is free")
    free = sum(each.usable_bytes or 0 for each in brokers)
    needed = _bytes_to_come(run, source, target)
    if needed > free:
        detail = (
            f"{run.target} has {free / _GIB:.1f} GiB free, and {needed / _GIB:.1f} GiB of {run.source} are not there "
            "yet: add space, or shorten retention on both clusters"
        )
        return Check(name, "failed", detail)
    low = [each for each in brokers if (each.usable_bytes or 0) < _LOW * (each.total_bytes or 0)]
    if low:
        shown = ", ".join(f"broker {each.broker} ({_share(each):.0%})" for each in low[:_SHOWN])
        return Check(name, "warning", f"little space is free on {run.target}: {shown}. Expected at least {_LOW:.0%}")
    return Check(name, "ok", f"{run.target} has {free / _GIB:.1f} GiB free, and {needed / _GIB:.1f} GiB are to come")


def partitions_fit(run: Run) -> Check:
    """Return whether the target's brokers may hold the partitions that they have and those that are still to come."""
    held = {name: len(topic.partitions) for name, topic in run.read_cache.topics(run.target).items()}
    missing = sum(
        max(0, len(topic.partitions) - held.get(name, 0)) for name, topic in run.read_cache.topics(run.source).items()
    )
    return _partitions(run, missing * run.group.flow.replication_factor)


def partitions_fit_now(run: Run) -> Check:
    """Return whether the target's brokers may hold the partitions that they have."""
    return _partitions(run, 0)


def _partitions(run: Run, to_come: int) -> Check:
    limit = run.clients.topology.cluster(run.target).max_partitions_per_broker
    return judge_partitions(run.target, run.operator(run.target).capacity.hosted(), to_come, limit)


def judge_partitions(cluster: str, hosted: Mapping[int, int], to_come: int, limit: int | None) -> Check:
    """Judge partitions by the declared limit of a broker.

    :param hosted: replicas of partitions by broker
    :param to_come: replicas that replication still has to create, on any of the brokers
    :param limit: how many a broker may hold; ``None`` if the topology does not say so
    """
    name = "standby_partitions"
    broker, most = max(hosted.items(), key=lambda found: (found[1], -found[0]), default=(0, 0))
    more = ceil(to_come / len(hosted)) if hosted else to_come
    seen = f"broker {broker} of {cluster} holds {most:,} partition replicas, and {more:,} are to come"
    if limit is None:
        detail = f"not looked at: {seen}, and the topology declares no max_partitions_per_broker of {cluster}"
        return Check(name, "warning", f"{detail}. A broker does not say what its create.topic.policy allows")
    said = f"{seen}; {limit:,} are allowed (max_partitions_per_broker)"
    if most + more > limit:
        return Check(name, "failed", f"{said}: move partitions to other brokers, or add one")
    if most + more > (1 - _LOW) * limit:
        return Check(name, "warning", f"{said}: little is left. Move partitions to other brokers, or add one")
    return Check(name, "ok", said)


QUESTIONS: Mapping[str, Callable[[Run], Check]] = {
    "standby_brokers": brokers_as_many,
    "standby_in_sync": writes_would_be_accepted,
    "standby_space": room_for_the_rest,
    "standby_retention": room_for_retention,
    "standby_partitions": partitions_fit,
    "standby_quotas": not_throttled,
}
#: Those that are answered without the source.
WITHOUT_SOURCE: Mapping[str, Callable[[Run], Check]] = {
    "standby_in_sync": writes_would_be_accepted,
    "standby_retention": room_for_retention,
    "standby_partitions": partitions_fit_now,
    "standby_quotas": not_throttled_if_lost,
}


def _brokers(run: Run, cluster: str) -> tuple[BrokerCapacity, ...]:
    return run.operator(cluster).capacity.brokers()


def _racks(brokers: tuple[BrokerCapacity, ...]) -> frozenset[str]:
    return frozenset(each.rack for each in brokers if each.rack)


def _in_words(partition: TopicPartition, found: PartitionReplicas, asked: int) -> str:
    return f"{partition} ({found.in_sync} of {found.replicas} replicas in sync, {asked} needed)"


def _bytes_to_come(run: Run, source: KafkaCluster, target: KafkaCluster) -> int:
    """Return how many bytes the target needs for what it does not hold yet, with its own number of replicas."""
    topics, replicator = run.read_cache.topics(run.target), run.clients.replicator(run.flow)
    held, kept = parallel.at_once(
        lambda: _logs_of(source, run.read_cache.topics(run.source)), lambda: _logs_of(target, topics)
    )
    copied = {} if replicator.status().state == "absent" else replicator.positions()
    copies = target.capacity.replicas(topics)
    return sum(
        bytes_to_come(log, kept.get(partition), copied.get(partition, 0))
        * (copies[partition].replicas if partition in copies else 1)
        for partition, log in held.items()
    )


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A partition on the disks of a cluster.

    :param size: of the largest replica, in bytes
    """

    held: OffsetRange
    size: int

    @property
    def bytes_an_offset(self) -> float:
        """How much an offset takes there, as it is compressed there."""
        return self.size / max(1, len(self.held))


def bytes_to_come(source: StoredLog, target: StoredLog | None, copied: int) -> int:
    """Return how many bytes the target needs for what it does not hold yet of a partition.

    Originals and copies may be compressed in different ways, so what is missing is counted in offsets and not in bytes.

    :param target: its copies so far, which show what an offset takes there; ``None`` if there is no such partition
    :param copied: next to copy, on the source
    """
    left = max(0, source.held.end - max(source.held.start, copied))
    return ceil(left * (target if target is not None and target.size else source).bytes_an_offset)


def _logs_of(cluster: KafkaCluster, topics: Mapping[str, Topic]) -> dict[TopicPartition, StoredLog]:
    partitions = [p for topic in topics.values() for p in topic.partitions]
    sizes = cluster.log_sizes.of(topics)
    starts, ends = cluster.topics.log_starts(partitions), cluster.topics.high_watermarks(partitions)
    return {p: StoredLog(OffsetRange(starts[p], ends[p]), sizes.get(p, 0)) for p in partitions}


def _share(broker: BrokerCapacity) -> float:
    return (broker.usable_bytes or 0) / broker.total_bytes if broker.total_bytes else 0.0
