"""How much room partitions take on disk."""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters.errors import translated
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition


class Sizes:
    """Asks the brokers for the sizes of their logs."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def of(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        """Return the bytes of each partition's largest copy."""
        if not topics:
            return {}
        admin = self._session.python_admin
        with translated(self._session.label, "read the sizes of logs"):
            answers = admin.describe_log_dirs(sorted(topics))
        found: dict[TopicPartition, int] = {}
        for answer in answers:
            for folder in answer["log_dirs"]:
                for topic in folder["topics"]:
                    for row in topic["partitions"]:
                        partition = TopicPartition(topic["name"], row["partition_index"])
                        found[partition] = max(found.get(partition, 0), row["partition_size"])
        return found
