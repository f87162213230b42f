"""Topics, their configuration and their offsets."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from enum import Enum

from confluent_kafka import IsolationLevel, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import ConfigResource, NewPartitions, NewTopic, OffsetSpec, TopicMetadata
from confluent_kafka.admin import ResourceType as ClientResourceType
from kafka.protocol.admin.configs import DescribeConfigsRequest

from kafka_dr.clusters.errors import AlreadyExists, NotAuthorized, NotFound, StaleMetadata
from kafka_dr.clusters.many_partitions import MANY, ManyPartitions, once_led
from kafka_dr.clusters.model import ClusterIdentity, Topic
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.positions import TopicPartition

#: The version of the protocol's answer from which on it has topic ids (KIP-516).
_WITH_TOPIC_IDS = 10


class _OfLog(Enum):
    """An offset of a log, as ListOffsets asks for it: a time that no record has."""

    END = -1
    START = -2


class Topics:
    """Reads, creates and deletes topics; reads their log start offsets, high watermarks and last stable offsets."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._many = ManyPartitions(session)

    def identity(self) -> ClusterIdentity:
        """Return which cluster answers.

        librdkafka's description of a cluster ends the whole process if the cluster reports no active broker, for
        example after its only broker hung and has not registered again (2.16.1). So its metadata are read instead.

        :raises ClusterUnreachable: no broker answered
        """
        doing = "describe the cluster"
        with self._session.observed(doing), self._session.translated(doing):
            found = self._session.look_up(self._session.admin, self._session.known_topic)
        controller = None if found.controller_id < 0 else found.controller_id
        return ClusterIdentity(found.cluster_id, tuple(sorted(found.brokers)), controller)

    def names(self) -> frozenset[str]:
        """Return the names of all topics that the principal may see."""
        return frozenset(self._all())

    def partitions(self, wanted: Callable[[str], bool]) -> tuple[TopicPartition, ...]:
        """Return every partition of the topics with a wanted name that the principal may see, in order."""
        return tuple(self.led(wanted))

    def led(self, wanted: Callable[[str], bool]) -> dict[TopicPartition, int]:
        """Return the same partitions in order, each with the broker that leads it; -1 where none does.

        One answer has them all.
        """
        leaders = {
            name: {number: topic.partitions[number].leader for number in sorted(topic.partitions)}
            for name, topic in self._all().items()
            if wanted(name)
        }
        # A topic that is being created, or deleted, has none in this answer. Describing it shows which.
        for name, topic in self.describe(name for name, brokers in leaders.items() if not brokers).items():
            leaders[name] = dict(enumerate(topic.leaders))
        return {
            TopicPartition(name, number): broker for name in sorted(leaders) for number, broker in leaders[name].items()
        }

    def _all(self) -> Mapping[str, TopicMetadata]:
        with self._session.translated("list the topics"):
            found: Mapping[str, TopicMetadata] = self._session.look_up(self._session.admin).topics
            return found

    def existing(self, names: Iterable[str]) -> dict[str, Topic]:
        """Describe those of the topics that exist and that the principal may see: nearly always all of them."""
        wanted = set(names)
        try:
            return self.describe(wanted)
        except (NotFound, NotAuthorized):
            return self.describe(wanted & self.names())

    def describe(self, names: Iterable[str]) -> dict[str, Topic]:
        """Describe topics by name.

        :raises NotFound: one of them does not exist
        """
        wanted = sorted(set(names))
        if not wanted:
            return {}
        if len(wanted) >= MANY:
            return self._describe_many(wanted)
        futures = self._session.admin.describe_topics(
            TopicCollection(wanted), request_timeout=self._session.request_seconds
        )
        described = self._session.results(futures, f"describe {_listed(wanted)}")
        return {
            name: Topic(
                name, topic_id(found.topic_id), tuple(p.leader.id if p.leader else -1 for p in found.partitions)
            )
            for name, found in described.items()
        }

    def _describe_many(self, names: Collection[str]) -> dict[str, Topic]:
        """Describe many topics: librdkafka's client makes an object with locks for each of them."""
        found: dict[str, Topic] = {}
        for row in self._many.metadata(names, f"describe {_listed(names)}", since=_WITH_TOPIC_IDS):
            if error := self._session.error(row.error_code, None, f"describe {row.name}"):
                raise error
            leaders = {each.partition_index: each.leader_id for each in row.partitions}
            written = urlsafe_b64encode(row.topic_id.bytes).decode().rstrip("=")
            found[row.name] = Topic(row.name, written, tuple(leaders[number] for number in sorted(leaders)))
        return found

    def leaders(self, names: Iterable[str]) -> dict[TopicPartition, int]:
        """Return the leader of each partition, without partitions that have no leader or that may not be seen.

        By kafka-python: librdkafka's descriptions wait ten seconds for the controller that it knows, even if that
        broker has just stopped (2.16.1), and leaders are read when a broker has stopped.
        """
        wanted = set(names)
        if not wanted:
            return {}
        return {
            TopicPartition(topic.name, row.partition_index): row.leader_id
            for topic in self._many.metadata(wanted, "look up partition leaders")
            for row in topic.partitions
            if row.leader_id >= 0
        }

    def create(self, name: str, *, partitions: int, replication_factor: int, config: Mapping[str, str]) -> bool:
        """Create a topic, unless it exists.

        :returns: whether this call created it
        """
        topic = NewTopic(name, num_partitions=partitions, replication_factor=replication_factor, config=dict(config))
        futures = self._session.admin.create_topics([topic], request_timeout=self._session.request_seconds)
        try:
            self._session.results(futures, f"create topic {name}")
        except AlreadyExists:
            return False
        return True

    def delete(self, names: Iterable[str]) -> None:
        """Delete topics, with all their records. A missing topic is no error.

        The cluster answers when the deletion is decided; the topics may be visible for a moment longer.
        """
        wanted = sorted(set(names))
        if not wanted:
            return
        futures = self._session.admin.delete_topics(wanted, request_timeout=self._session.request_seconds)
        for name, future in futures.items():
            with suppress(NotFound):
                self._session.results({name: future}, f"delete topic {name}")

    def add_partitions(self, name: str, total: int) -> None:
        """Raise the number of partitions of a topic to ``total``."""
        futures = self._session.admin.create_partitions(
            [NewPartitions(name, total)], request_timeout=self._session.request_seconds
        )
        self._session.results(futures, f"add partitions to {name}")

    def configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the effective configuration of topics, by name and key."""
        resources = [ConfigResource(ClientResourceType.TOPIC, name) for name in sorted(set(names))]
        if not resources:
            return {}
        futures = self._session.admin.describe_configs(resources, request_timeout=self._session.request_seconds)
        found = self._session.results(futures, "read the configuration of topics")
        return {
            resource.name: {key: entry.value for key, entry in entries.items() if entry.value is not None}
            for resource, entries in found.items()
        }

    def settings(self, names: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, str]]:
        """Return some effective settings of topics, by name and key: of many topics this is much less than all.

        By kafka-python: librdkafka's client always asks for all of them.

        :raises NotFound: one of the topics does not exist
        """
        wanted = sorted(set(names))
        if not wanted:
            return {}
        doing = f"read {', '.join(sorted(keys))} of topics"
        topic, of_one = ClientResourceType.TOPIC.value, DescribeConfigsRequest.DescribeConfigsResource
        resources = [
            of_one(resource_type=topic, resource_name=name, configuration_keys=sorted(keys)) for name in wanted
        ]
        request = DescribeConfigsRequest(
            resources=resources, include_synonyms=False, include_documentation=False, max_version=4
        )
        found: dict[str, dict[str, str]] = {}
        for row in self._session.request(request, doing).results:
            if error := self._session.error(row.error_code, row.error_message, doing):
                raise error
            found[row.resource_name] = {entry.name: entry.value for entry in row.configs if entry.value is not None}
        return found

    def log_starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return self._offsets(partitions, _OfLog.START, IsolationLevel.READ_UNCOMMITTED)

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the high watermark of each partition: where a reader of uncommitted records stops."""
        return self._offsets(partitions, _OfLog.END, IsolationLevel.READ_UNCOMMITTED)

    def last_stable_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the last stable offset of each partition: where a reader of committed records stops."""
        return self._offsets(partitions, _OfLog.END, IsolationLevel.READ_COMMITTED)

    def _offsets(
        self, partitions: Iterable[TopicPartition], spec: _OfLog, isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        asked = set(partitions)
        if not asked:
            return {}

        doing = f"read the ends of {_listed({p.topic for p in asked})}"
        if len(asked) < MANY:
            # A leader that does not know the topic yet says that there is none: describing it shows which.
            with suppress(StaleMetadata, NotFound):
                return self._offsets_of_few(asked, spec, isolation, doing)

        def leaders_say() -> dict[TopicPartition, int]:
            try:
                return self._many.offsets(dict.fromkeys(asked, spec.value), isolation.value, doing)
            except StaleMetadata:
                # Describing the topics shows whether one is missing: a topic without a leader must never be taken for
                # a missing one. A broker that was suspended may lead before it knows that itself, and needs a moment.
                self.describe({p.topic for p in asked})
                raise

        return once_led(leaders_say)

    def _offsets_of_few(
        self, asked: Collection[TopicPartition], spec: _OfLog, isolation: IsolationLevel, doing: str
    ) -> dict[TopicPartition, int]:
        """Ask the leaders that librdkafka knows. It may know outdated ones for minutes.

        :raises StaleMetadata: a leader did not give an offset
        """
        specs = {ClientPartition(p.topic, p.partition): OffsetSpec(spec.value) for p in asked}
        futures = self._session.admin_for_leaders(doing).list_offsets(
            specs, isolation_level=isolation, request_timeout=self._session.request_seconds
        )
        found = self._session.results(futures, doing)
        offsets = {TopicPartition(p.topic, p.partition): result.offset for p, result in found.items()}
        if silent := sorted(partition for partition, offset in offsets.items() if offset < 0):
            # librdkafka reports a partition whose leader it lost without an error, with an offset below zero.
            raise StaleMetadata(f"{self._session.label}: could not {doing}: no leader answered for {silent[0]}")
        return offsets


def topic_id(found: object) -> str:
    """Return a topic's id as Kafka's own tools write it, so that it can be part of a path.

    librdkafka writes the Base64 alphabet that contains slashes.
    """
    return str(found).replace("+", "-").replace("/", "_")


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
