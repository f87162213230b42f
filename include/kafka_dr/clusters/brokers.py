"""Settings of brokers, and the sizes of their logs. Brokers hide the values of plug-ins' settings."""

from __future__ import annotations

from collections.abc import Collection

from kafka.protocol.admin import DescribeConfigsRequest, DescribeLogDirsRequest

from kafka_dr.clusters.session import ClusterSession
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition

_BROKER = 4  # the protocol's number for a broker among the resources
#: How many brokers are asked at the same time.
_AT_ONCE = 8


class BrokerSettings:
    """Reads settings of brokers, for which the principal needs DESCRIBE_CONFIGS on the cluster.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def read(self, brokers: Collection[int], keys: Collection[str] | None) -> dict[int, dict[str, str | None]]:
        """Return the values of these settings on each broker; of all that it has if ``keys`` is ``None``.

        A key that is unknown to a broker and not set on it is missing from the result. ``None`` means that the broker
        hides the value, as it does for every key that is not Kafka's own.

        :raises ClusterError: a broker refused
        """
        return ask_all(lambda broker: self._of(broker, keys), sorted(brokers), at_most=_AT_ONCE)

    def _of(self, broker: int, keys: Collection[str] | None) -> dict[str, str | None]:
        doing = f"read the settings of broker {broker}"
        wanted = None if keys is None else sorted(keys)
        request = DescribeConfigsRequest(resources=[(_BROKER, str(broker), wanted)], min_version=1)
        (found,) = self._session.request(request, doing, broker=broker).results
        if (error := self._session.error(found.error_code, found.error_message, doing)) is not None:
            raise error
        return {entry.name: entry.value for entry in found.configs}


class LogSizes:
    """Reads the sizes of logs from the brokers."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def of(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        """Return the size of each partition's largest replica, in bytes."""
        if not topics:
            return {}
        admin = self._session.python_admin
        with self._session.translated("read the sizes of logs"):
            answers = admin.describe_log_dirs(sorted(topics))
        found: dict[TopicPartition, int] = {}
        for answer in answers:
            for folder in answer["log_dirs"]:
                for topic in folder["topics"]:
                    for row in topic["partitions"]:
                        partition = TopicPartition(topic["name"], row["partition_index"])
                        found[partition] = max(found.get(partition, 0), row["partition_size"])
        return found

    def of_all(self, brokers: Collection[int]) -> dict[TopicPartition, int]:
        """Return the same of all that these brokers hold, also of topics that the principal may not see otherwise.

        It needs DESCRIBE on the cluster alone. kafka-python's own method asks only for topics that it sees (3.0.12).

        :raises ClusterError: a broker refused
        """
        answers = ask_all(self._of_broker, sorted(brokers), at_most=_AT_ONCE).values()
        found: dict[TopicPartition, int] = {}
        for partition, size in (row for answer in answers for row in answer):
            found[partition] = max(found.get(partition, 0), size)
        return found

    def _of_broker(self, broker: int) -> list[tuple[TopicPartition, int]]:
        doing = f"read the sizes of logs of broker {broker}"
        answer = self._session.request(DescribeLogDirsRequest(topics=None), doing, broker=broker)
        for code in (answer.error_code or 0, *(folder.error_code for folder in answer.results)):
            if (error := self._session.error(code, None, doing)) is not None:
                raise error
        return [
            (TopicPartition(topic.name, row.partition_index), row.partition_size)
            for folder in answer.results
            for topic in folder.topics
            for row in topic.partitions
        ]
