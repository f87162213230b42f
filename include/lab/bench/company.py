"""A protection group of a company's size in the lab: topics, consumer groups and principals next to the demo's own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.topology.model import Topology
from kafka_dr.waiting import wait_until
from lab.api import Lab
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN
from lab.errors import LabError

_PREFIX = f"{PROTECTION_GROUP}.bench-"
#: Topics of one request, and seconds that it may take.
_TOPICS_AT_ONCE, _SECONDS = 50, 120.0
_LOOK_AFTER_SECONDS = 30.0
#: In each partition.
_RECORDS = 2


@dataclass(frozen=True, slots=True)
class Size:
    """How much a protection group has, next to the topics and groups of the lab's applications.

    :param partitions: of all topics together
    :param committed: partitions in which each consumer group has committed an offset
    :param principals: that are declared, the applications' own two among them
    """

    topics: int = 0
    partitions: int = 0
    groups: int = 0
    committed: int = 0
    principals: int = 2

    def to_json(self) -> dict[str, int]:
        """Return the size by its words."""
        return asdict(self)

    @property
    def layout(self) -> dict[str, int]:
        """Return the number of partitions of each topic; they differ by at most one."""
        if not self.topics:
            return {}
        each, more = divmod(self.partitions, self.topics)
        return {f"{_PREFIX}{number:05d}": max(1, each + (number < more)) for number in range(self.topics)}

    @property
    def all_partitions(self) -> tuple[TopicPartition, ...]:
        """Return every partition."""
        return tuple(TopicPartition(name, number) for name, count in self.layout.items() for number in range(count))

    @property
    def offsets(self) -> dict[str, dict[TopicPartition, int]]:
        """Return what each group has committed; each reads other partitions than the group before it."""
        every, count = self.all_partitions, min(self.committed, self.partitions)
        return {
            f"{PROTECTION_GROUP}-bench-{number:04d}": {
                every[(number * count + step) % len(every)]: 1 for step in range(count)
            }
            for number in range(self.groups if every else 0)
        }

    def declared(self, topology: Topology) -> Topology:
        """Return the topology with this number of principals, for each of which every fence has its DENYs."""
        group = topology.protection_groups[PROTECTION_GROUP]
        more = tuple(f"User:bench-{number:03d}" for number in range(self.principals - len(group.principals)))
        flow = group.flow
        if self.topics:
            # Connect would do nothing but look at the topics, and brokers nothing but answer that nobody has written.
            flow = flow.model_copy(update={"refresh_topics_seconds": 60, "fetch_wait_ms": 500})
        larger = group.model_copy(update={"principals": (*group.principals, *more), "flow": flow})
        return topology.model_copy(
            update={"protection_groups": {**topology.protection_groups, PROTECTION_GROUP: larger}}
        )


def create(lab: Lab, size: Size, *, active: str) -> None:
    """Create the topics on every cluster, write two records to each partition, and commit the groups' offsets.

    :raises LabError: a cluster did not do it in time
    """
    if not size.layout:
        return
    for cluster in lab.clusters:
        _create_topics(AdminClient(lab.client_settings(cluster.name, ADMIN)), size)
    settings = lab.client_settings(active, ADMIN)
    _write(settings, size.all_partitions)
    with KafkaCluster(active, ClientSettings.from_librdkafka(settings), request_seconds=_SECONDS) as reached:
        # The first group makes the cluster create its topic of offsets, and a busy one needs a while for that.
        wait_until(
            partial(reached.groups.set_offsets, size.offsets),
            lambda _: True,
            clock=SystemClock(),
            seconds=_SECONDS,
            retry=TryAgain,
        )


def _write(settings: Mapping[str, str], partitions: Sequence[TopicPartition]) -> None:
    """Write two records to each partition; brokers refuse those of topics that they do not know of yet."""
    # Each of thousands of such partitions would be a line on stderr.
    producer = Producer({**settings, "linger.ms": 50, "log_level": 0})
    missing = Counter(dict.fromkeys(partitions, _RECORDS))

    def answered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            missing[TopicPartition(str(message.topic()), int(message.partition() or 0))] -= 1

    deadline = time.monotonic() + _SECONDS
    while left := +missing:
        if time.monotonic() > deadline:
            raise LabError(f"{left.total()} records could not be written in {_SECONDS:.0f} s")
        for number, partition in enumerate(left.elements()):
            # A broker that does not know of the topic yet shows no partition of it.
            with suppress(KafkaException, BufferError):
                value = f"record {number}".encode()
                producer.produce(partition.topic, partition=partition.partition, value=value, on_delivery=answered)
            producer.poll(0)
        producer.flush(_SECONDS)


def _create_topics(admin: AdminClient, size: Size) -> None:
    for names in _in_parts(sorted(size.layout.items()), _TOPICS_AT_ONCE):
        wanted = [NewTopic(name, num_partitions=count, replication_factor=1) for name, count in names]
        for future in admin.create_topics(wanted, request_timeout=_SECONDS).values():
            future.result(_SECONDS)


def _in_parts(rows: Sequence[tuple[str, int]], most: int) -> Iterator[Sequence[tuple[str, int]]]:
    for start in range(0, len(rows), most):
        yield rows[start : start + most]


def wait_copied(
    positions: Callable[[], Any], size: Size, *, seconds: float, look_after: Callable[[], object] = lambda: None
) -> None:
    """Wait until the flow has copied the records of every partition.

    :param positions: returns the flow's positions by partition
    :param look_after: called every half minute, as ``dr_flows`` is: on a busy machine a transaction of a thousand
        partitions may take too long, and its task fails
    :raises LabError: it did not in time
    """
    began = looked = time.monotonic()
    while True:
        found = positions()
        left = [partition for partition in size.all_partitions if found.get(partition, 0) < _RECORDS]
        if not left:
            return
        now = time.monotonic()
        if now > began + seconds:
            raise LabError(f"{len(left)} of {len(size.all_partitions)} partitions are not copied after {seconds:.0f} s")
        if now > looked + _LOOK_AFTER_SECONDS:
            look_after()
            looked = time.monotonic()
        time.sleep(1.0)
