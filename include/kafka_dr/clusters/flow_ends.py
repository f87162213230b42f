"""What one cluster of a flow holds, and what of it may not be seen."""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters.errors import ClusterError, NotFound
from kafka_dr.clusters.renamed import FlowCluster
from kafka_dr.errors import KafkaDrError, Unanswered
from kafka_dr.positions import OffsetRange, TopicPartition


def held(cluster: FlowCluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that a cluster holds of partitions that exist, up to the last stable offset."""
    starts = cluster.topics.log_starts(partitions)
    ends = cluster.topics.last_stable_offsets(partitions)
    return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in partitions}


def hidden(cluster: FlowCluster, topics: Collection[str]) -> dict[str, KafkaDrError]:
    """Return of topics that are not listed those of which it is not known that they do not exist, and why."""
    found: dict[str, KafkaDrError] = {}
    for topic in sorted(topics):
        try:
            cluster.topics.describe([topic])
        except NotFound:
            continue
        except (ClusterError, Unanswered) as error:
            found[topic] = error
    return found
