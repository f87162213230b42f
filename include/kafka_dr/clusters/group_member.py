"""A member of a consumer group: it joins, reads what it is assigned, and commits. Only drills read so."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException

from kafka_dr.clusters.errors import raise_translated, translated
from kafka_dr.clusters.log import to_record
from kafka_dr.clusters.model import Record
from kafka_dr.clusters.session import SILENT
from kafka_dr.clusters.settings import ClientSettings

_BATCH = 500
#: After how long without a sign of life a member is put out of its group, in seconds; the least that brokers accept.
SESSION_SECONDS = 6


class GroupMember:
    """One consumer of a group, on one cluster, from where the group has committed, or from the start.

    :param name: the cluster's name in the topology, for messages
    """

    def __init__(self, name: str, settings: ClientSettings, *, group: str, topics: Sequence[str]) -> None:
        self._label = f"{name} as {settings.username}" if settings.username else name
        self._consumer = Consumer(
            {
                **settings.librdkafka(),
                "log_level": 0,
                "logger": SILENT,
                "client.id": "kafka-dr",
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_SECONDS * 1000,
                "heartbeat.interval.ms": 1000,
                "allow.auto.create.topics": False,
                "topic.metadata.refresh.interval.ms": 5000,
            }
        )
        self._consumer.subscribe(list(topics))

    def read(self, seconds: float) -> list[Record]:
        """Return what arrives within so many seconds, as soon as anything does.

        :raises NotAuthorized: it may not read, or not as a member of the group
        :raises ClusterUnreachable: the cluster does not answer
        """
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        arrived = []
        for message in [first, *self._consumer.consume(_BATCH, timeout=0)]:
            if (error := message.error()) is not None:
                raise_translated(error, cluster=self._label, doing="read as a member of a group")
            arrived.append(to_record(message))
        return arrived

    def commit(self) -> None:
        """Commit what was read.

        :raises KafkaDrError: the cluster did not take it
        """
        with translated(self._label, "commit offsets"):
            try:
                self._consumer.commit(asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._NO_OFFSET:  # nothing was read since the last commit
                    raise

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
