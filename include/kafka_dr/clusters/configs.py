"""Configuration of many topics at once: the number of requests does not depend on the number of topics.

Each call has a result for every topic: a topic that fails is returned with its error, and the other topics are done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
)
from confluent_kafka.admin import NewTopic as ClientNewTopic
from confluent_kafka.admin import ResourceType as ClientResourceType
from kafka.protocol.admin import DescribeConfigsRequest

from kafka_dr.clusters.configuration import ConfigValue, NewTopic, Origin, TopicLayout
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError

T = TypeVar("T")

_TOPIC = 2  # the protocol's number for a topic among the resources
_ORIGINS = {1: Origin.TOPIC, 2: Origin.BROKER, 3: Origin.CLUSTER, 4: Origin.STATIC, 5: Origin.DEFAULT}
_SET, _INHERIT = AlterConfigOpType.SET, AlterConfigOpType.DELETE
#: A controller accepts at most 10,000 records in one request: one for a topic, one for each partition and setting.
LARGEST_REQUEST = 8_000


@dataclass(frozen=True, slots=True)
class Overview:
    """A cluster's metadata.

    :param topics: the topics that the principal may see, by name
    """

    cluster_id: str
    brokers: int
    topics: Mapping[str, TopicLayout]


@dataclass(frozen=True, slots=True)
class Described:
    """Configurations of topics.

    :param configs: by topic and key
    :param errors: by topic that could not be read
    """

    configs: Mapping[str, Mapping[str, ConfigValue]]
    errors: Mapping[str, KafkaDrError]


class Configs:
    """Reads and changes topics and their configuration, many topics in one request."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def overview(self) -> Overview:
        """Return which cluster answers, and the layout of every topic that the principal may see. One request."""
        doing = "look at the topics"
        with self._session.observed(doing), self._session.translated(doing):
            seen = self._session.look_up(self._session.admin)
        return Overview(
            cluster_id=seen.cluster_id,
            brokers=len(seen.brokers),
            topics={
                name: TopicLayout(
                    name,
                    partitions=len(topic.partitions),
                    replication_factor=min((len(p.replicas) for p in topic.partitions.values()), default=0),
                )
                for name, topic in seen.topics.items()
                if topic.error is None
            },
        )

    def describe(self, names: Collection[str]) -> Described:
        """Return every configuration of topics, with effective value and origin. One request."""
        if not names:
            return Described({}, {})
        doing = "read the configuration of topics"
        resources = [(_TOPIC, name, None) for name in sorted(set(names))]
        # By kafka-python: it needs a third of the time and memory that librdkafka's objects need.
        response = self._session.request(DescribeConfigsRequest(resources=resources, min_version=1), doing)
        configs: dict[str, Mapping[str, ConfigValue]] = {}
        errors: dict[str, KafkaDrError] = {}
        kept: dict[object, object] = {}
        for result in response.results:
            name = result.resource_name
            error = self._session.error(result.error_code, result.error_message, f"read the configuration of {name}")
            if error is not None:
                errors[name] = error
                continue
            found = {entry.name: _value(entry.value, entry.config_source, kept) for entry in result.configs}
            # Thousands of topics have the same configuration: each distinct one is kept once.
            configs[name] = kept.setdefault(tuple(sorted((k, id(v)) for k, v in found.items())), found)  # type: ignore[assignment]
        return Described(configs, errors)

    def inherited(self, name: str) -> Mapping[str, ConfigValue]:
        """Return the values that a topic inherits if it sets nothing itself, read from an existing one. One request.

        :returns: by key; the value is ``None`` where it is not known
        """
        doing = f"read the settings that topic {name} inherits"
        request = DescribeConfigsRequest(resources=[(_TOPIC, name, None)], include_synonyms=True, min_version=1)
        (result,) = self._session.request(request, doing).results
        if (error := self._session.error(result.error_code, result.error_message, doing)) is not None:
            raise error
        values = {}
        for entry in result.configs:
            values_in_order = [(entry.value, entry.config_source), *((s.value, s.source) for s in entry.synonyms)]
            # What the topic sets itself can hide what it would inherit: the key is known, the value is not.
            inherited = next(((value, source) for value, source in values_in_order if source != 1), (None, None))
            values[entry.name] = ConfigValue(inherited[0], _ORIGINS.get(inherited[1] or 0, Origin.OTHER))
        return values

    def create(self, topics: Collection[NewTopic]) -> dict[str, KafkaDrError]:
        """Create topics, and return the errors of those that could not be created."""
        errors: dict[str, KafkaDrError] = {}
        for batch in _batches(topics, lambda topic: 1 + topic.partitions + len(topic.configs)):
            wanted = [ClientNewTopic(t.name, t.partitions, t.replication_factor, config=dict(t.configs)) for t in batch]
            futures = self._session.admin.create_topics(wanted, request_timeout=self._deadline(len(wanted)))
            errors |= self._session.each(futures, "create topics", seconds=self._deadline(len(wanted)))
        return errors

    def add_partitions(self, totals: Mapping[str, int]) -> dict[str, KafkaDrError]:
        """Raise the number of partitions of topics, and return the errors of those that failed."""
        errors: dict[str, KafkaDrError] = {}
        for batch in _batches(totals.items(), lambda item: item[1]):
            wanted = [NewPartitions(name, total) for name, total in batch]
            futures = self._session.admin.create_partitions(wanted, request_timeout=self._deadline(len(wanted)))
            errors |= self._session.each(futures, "add partitions", seconds=self._deadline(len(wanted)))
        return errors

    def set(self, values: Mapping[str, Mapping[str, str | None]]) -> dict[str, KafkaDrError]:
        """Set configurations by topic and key, keep every other key, and return the errors of topics that failed.

        :param values: ``None`` where the topic is to inherit the value again
        """
        errors: dict[str, KafkaDrError] = {}
        for batch in _batches(values.items(), lambda item: len(item[1])):
            wanted = [_resource(name, configs) for name, configs in batch]
            futures = self._session.admin.incremental_alter_configs(wanted, request_timeout=self._deadline(len(wanted)))
            failed = self._session.each(futures, "set configurations", seconds=self._deadline(len(wanted)))
            errors |= {resource.name: error for resource, error in failed.items()}
        return errors

    def _deadline(self, count: int) -> float:
        """Return how many seconds one request for so many topics may take: a broker writes about 1,000 a second."""
        return self._session.request_seconds + count / 100


def _value(value: str | None, source: int, kept: dict[object, object]) -> ConfigValue:
    found: ConfigValue = kept.setdefault((value, source), ConfigValue(value, _ORIGINS.get(source, Origin.OTHER)))  # type: ignore[assignment]
    return found


def _resource(name: str, configs: Mapping[str, str | None]) -> ConfigResource:
    entries = [
        ConfigEntry(key, value, incremental_operation=_SET if value is not None else _INHERIT)
        for key, value in sorted(configs.items())
    ]
    return ConfigResource(ClientResourceType.TOPIC, name, incremental_configs=entries)


def _batches(things: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Split things into requests only if a controller would refuse all of them together."""
    batch: list[T] = []
    total = 0
    for thing in things:
        if batch and total + size(thing) > LARGEST_REQUEST:
            yield batch
            batch, total = [], 0
        batch.append(thing)
        total += size(thing)
    if batch:
        yield batch
