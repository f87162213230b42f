"""Whether the standby has room for what its topics will hold when they are as old as their retention."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.configuration import ConfigValue
from kafka_dr.counted import counted
from kafka_dr.durations import about
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.run import Run

#: The rate is that of the busier of these two times: a quiet hour and a quiet day are no reason for an all-clear.
_MEASURED = (timedelta(hours=1), timedelta(days=1))
#: A disk that is full sooner is not a warning any more.
_AT_ONCE = timedelta(days=1)
#: Topics that nothing is deleted of fill every disk. One that lasts so long is not named.
_FAR = timedelta(days=30)
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class GrowingLog:
    """One partition of the standby.

    :param held: bytes of one replica now
    :param rate: bytes that are written in a second
    :param full: bytes of one replica when it is as old as its retention; infinite if nothing is ever deleted
    :param replicas: how many brokers hold it
    """

    held: float
    rate: float
    full: float
    replicas: int

    @property
    def to_come(self) -> float:
        """The bytes that all its replicas will need in addition; infinite if it grows for ever."""
        return max(0.0, self.full - self.held) * self.replicas if self.rate else 0.0


def full_size(rate: float, held: float, config: Mapping[str, str | None]) -> float:
    """Return how many bytes one replica of a partition holds when it is as old as its retention.

    A log that is only compacted is taken to stay as large as it is: its size follows from its keys.

    :param rate: bytes that are written in a second
    :param held: its bytes now
    :param config: of its topic
    """
    if "delete" not in (config.get("cleanup.policy") or "delete"):
        return held
    milliseconds, size = (int(config.get(key) or -1) for key in ("retention.ms", "retention.bytes"))
    by_time = rate * milliseconds / 1000 if milliseconds >= 0 else math.inf
    return min(by_time, size if size >= 0 else math.inf)


def judge_growth(cluster: str, logs: Collection[GrowingLog], free: float) -> Check:
    """Judge whether what is to come fits; if not, say when the disks would be full.

    :param free: bytes on all disks of the cluster
    """
    name = "standby_retention"
    ending = sum(log.to_come for log in logs if math.isfinite(log.to_come))
    endless = sum(log.rate * log.replicas for log in logs if math.isinf(log.to_come))
    rate = sum(log.rate * log.replicas for log in logs)
    said = (
        f"at {rate / _GIB * 86_400:.1f} GiB a day (all replicas) {cluster} needs {ending / _GIB:.1f} GiB more until "
        f"its topics are as old as their retention, and has {free / _GIB:.1f} GiB free"
    )
    if ending > free:
        seconds = free / rate
        outcome: CheckOutcome = "failed" if seconds < _AT_ONCE.total_seconds() else "warning"
        return Check(name, outcome, f"{said}: full in about {about(seconds)}. Add space, or shorten retention")
    if endless and (free - ending) / endless < _FAR.total_seconds():
        full = f"topics without an end of retention fill the rest in about {about((free - ending) / endless)}"
        return Check(name, "warning", f"{said}; {full}. Add space, or limit their retention")
    return Check(name, "ok", said)


def room_for_retention(run: Run) -> Check:
    """Return whether the target has room for its topics at the present rate, measured on its own copies.

    The copies have the times of their originals, so the rate is that of the applications, and no other cluster is
    asked: this is known during a disaster, too.
    """
    name, target = "standby_retention", run.operator(run.target)
    topics = run.read_cache.topics(run.target)
    brokers, described = parallel.at_once(target.capacity.brokers, lambda: target.configs.describe(topics))
    silent = [each.broker for each in brokers if each.usable_bytes is None]
    if silent:
        return Check(name, "unknown", f"brokers {silent} of {run.target} do not say how much space is free")
    if described.errors:
        error = next(iter(described.errors.values()))
        many = counted(len(described.errors), "topic")
        return Check(name, "unknown", f"the retention of {many} cannot be read: {error}")
    free = sum(each.usable_bytes or 0 for each in brokers)
    return judge_growth(run.target, _logs(run, target, described.configs), free)


def _logs(run: Run, target: KafkaCluster, configs: Mapping[str, Mapping[str, ConfigValue]]) -> list[GrowingLog]:
    topics = run.read_cache.topics(run.target)
    partitions = [p for topic in topics.values() for p in topic.partitions]
    sizes, replicas = parallel.at_once(lambda: target.log_sizes.of(topics), lambda: target.capacity.replicas(topics))
    starts, ends = parallel.at_once(
        lambda: target.topics.log_starts(partitions), lambda: target.topics.high_watermarks(partitions)
    )
    earlier = parallel.at_once(*(partial(_offsets_before, run, target, partitions, ago) for ago in _MEASURED))
    found = []
    for partition in partitions:
        held = sizes.get(partition, 0)
        rate = max(
            rate_since(starts[partition], ends[partition], known[partition], held, ago)
            for known, ago in zip(earlier, _MEASURED, strict=True)
        )
        config = {key: value.value for key, value in configs[partition.topic].items()}
        copies = replicas[partition].replicas if partition in replicas else 1
        found.append(GrowingLog(held, rate, full_size(rate, held, config), copies))
    return found


def _offsets_before(
    run: Run, target: KafkaCluster, partitions: Collection[TopicPartition], ago: timedelta
) -> Mapping[TopicPartition, int | None]:
    return target.offsets_by_time.at(partitions, int((run.clock.now() - ago).timestamp() * 1000))


def rate_since(start: int, end: int, since: int | None, held: int, ago: timedelta) -> float:
    """Return how many bytes were written in a second since then, by the average size of the records in the log.

    :param start: of the log
    :param end: of the log
    :param since: the first offset of a record that is not older; ``None`` if there is none
    :param held: bytes of the log
    """
    if end <= start or since is None:
        return 0.0
    return max(0, end - max(since, start)) * held / (end - start) / ago.total_seconds()
