"""What the journal of a group knows of offsets: where each direction of replication began, and what is quarantined."""

from __future__ import annotations

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.offsets import Ignored
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds
from kafka_dr.register.quarantine import QUARANTINE, QuarantinedRange, by_partition, quarantined
from kafka_dr.runs.run import Run


def seeds(run: Run) -> dict[TopicPartition, list[SeedPoint]]:
    """Return every point where a direction began, seen from this run's source; journaled by earlier runs."""
    found: dict[TopicPartition, list[SeedPoint]] = {}
    for seed in valid_seeds(run):
        for partition, point in seed.points.items():
            found.setdefault(partition, []).append(point if seed.source == run.source else point.reversed)
    return found


def valid_seeds(run: Run) -> list[FlowSeed]:
    """Return the seeds between this run's two clusters whose logs are still those that the clusters have."""
    # Where a cluster was copied again, what was known of the topics before does not count.
    rebuilt, clusters = last_rebuild(run), {run.source, run.target}
    found = journaled_seeds(run.history).values()
    return [seed for seed in found if {seed.source, seed.target} == clusters and seed.epoch >= rebuilt]


def last_rebuild(run: Run) -> int:
    """Return the epoch in which one of this run's clusters was last copied again from nothing; 0 where none was."""
    rebuilds = (facts["rebuild"] for facts in run.history.values() if "rebuild" in facts)
    return max((int(each["epoch"]) for each in rebuilds if each["cluster"] in (run.source, run.target)), default=0)


def ignored_ranges(run: Run) -> tuple[Ignored, Ignored]:
    """Return what failbacks have quarantined on source and target: it is neither copied nor a copy."""
    if not any(QUARANTINE in facts for facts in run.history.values()):
        return {}, {}
    on_source, on_target = (
        {
            p: [OffsetRange(each.start, each.end) for each in found]
            for p, found in by_partition(quarantined_on(run, cluster)).items()
        }
        for cluster in (run.source, run.target)
    )
    return on_source, on_target


def quarantined_on(run: Run, cluster: str) -> tuple[QuarantinedRange, ...]:
    """Return what is quarantined on a cluster, of the topics that it has now."""
    return quarantined(run.history, cluster, run.topic_ids(cluster))
