"""All offset syncs between two clusters, of both directions: archived ones, and those that were written since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.offsets.archive import NOTHING, ArchivedSync, History, composed
from kafka_dr.offsets.archiving import SyncFlow, archived_and_newer
from kafka_dr.offsets.reading import both
from kafka_dr.offsets.sync_files import Archived


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about some partitions.

    :param written: what the flow from source to target wrote, in order, all of it: what MirrorMaker itself would read
    :param problems: what is wrong with the archive, a sentence each
    """

    histories: Mapping[TopicPartition, History] = field(default_factory=dict)
    written: Mapping[TopicPartition, Sequence[ArchivedSync]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, partition: TopicPartition) -> History:
        """Return what is known of a partition."""
        return self.histories.get(partition, NOTHING)


class KnownSyncs:
    """Looks up what offset syncs say between two clusters.

    :param source: as audit; one that does not answer leaves its half of the newest syncs out, and says so
    :param target: as audit
    :param root: the evidence root
    :param cluster_ids: of source and target, as declared
    """

    def __init__(self, source: KafkaCluster, target: KafkaCluster, *, root: Any, cluster_ids: tuple[str, str]) -> None:
        here, there = cluster_ids
        self._source = source
        self._target = target
        self._root = root
        self._forth = SyncFlow(source.name, target.name, here, there)
        self._back = SyncFlow(target.name, source.name, there, here)

    def read(self, topics: Collection[str]) -> Known:
        """Return what is known about topics."""
        wanted = set(topics)
        here, there = both(lambda: _ids(self._source, wanted), lambda: _ids(self._target, wanted))
        forth, back = both(
            lambda: self._one_way(self._forth, self._target, wanted, here, there),
            lambda: self._one_way(self._back, self._source, wanted, there, here),
        )
        partitions = forth.histories.keys() | back.histories.keys()
        return Known(
            {p: composed(forth.of(p), back.of(p)) for p in partitions},
            forth.syncs,
            (*forth.problems, *back.problems),
        )

    def _one_way(
        self,
        flow: SyncFlow,
        holder: KafkaCluster,
        topics: Collection[str],
        here: Mapping[str, str],
        there: Mapping[str, str],
    ) -> Archived:
        ids = {topic: (here.get(topic, ""), there.get(topic, "")) for topic in topics}
        try:
            return archived_and_newer(flow, topics, root=self._root, target=holder, topic_ids=ids)
        except KafkaDrError as error:
            kept = flow.archive(self._root).read(topics, topic_ids=ids)
            return kept.with_problem(f"the newest syncs of {flow.source}-to-{flow.target} are not known: {error}")


def _ids(cluster: KafkaCluster, topics: Collection[str]) -> dict[str, str]:
    try:
        described = cluster.topics.describe(set(topics) & cluster.topics.names())
    except TryAgain:
        return {}
    return {name: topic.topic_id for name, topic in described.items()}
