"""What a protection group looks like to somebody outside, who shares no code with the steps."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.register import RegisterState
from support.protection import Protection
from support.route_file import route_file

#: A record as an application sees it, without its offset.
Content = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a run may change, as it was at one moment.

    :param route: the bytes of the route's file
    :param connectors: state by name, on both Connect clusters
    """

    registers: Mapping[str, RegisterState | None]
    acls: Mapping[str, frozenset[Acl]]
    offsets: Mapping[str, Mapping[str, Mapping[TopicPartition, int]]]
    connectors: Mapping[str, str]
    route: bytes


def look(protection: Protection) -> Seen:
    """Look at everything that belongs to a protection group, on both clusters."""
    acls, offsets, registers = {}, {}, {}
    for cluster in ("east", "west"):
        registers[cluster] = protection.state(cluster)
        acls[cluster] = acls_of(protection, cluster)
        offsets[cluster] = committed(protection, cluster)
    route = route_file(protection.group)
    return Seen(registers, acls, offsets, connectors(protection), route.read_bytes() if route.exists() else b"")


def acls_of(protection: Protection, cluster: str) -> frozenset[Acl]:
    """Return the ACLs about a group's names, on one cluster."""
    with protection.cluster(cluster, "admin") as admin:
        begins = _begin(protection, cluster, protection.name)
        return frozenset(acl for acl in admin.acls.list() if acl.name.startswith(begins))


def _begin(protection: Protection, cluster: str, name: str) -> tuple[str, ...]:
    """Return how names of a group begin on a cluster, those of copies with other names among them."""
    return (name, *protection.group.copies_of([name], cluster))


def denies(protection: Protection, cluster: str) -> frozenset[Acl]:
    """Return the DENYs about a group's names, on one cluster."""
    return frozenset(acl for acl in acls_of(protection, cluster) if acl.permission == "DENY")


def committed(protection: Protection, cluster: str) -> dict[str, dict[TopicPartition, int]]:
    """Return what the group's consumer groups have committed on one cluster, next to read."""
    with protection.cluster(cluster, "admin") as admin:
        names = [name for name in admin.groups.names() if name.startswith(f"{protection.name}-")]
        return {group: dict(found) for group, found in admin.groups.offsets(names).items()}


def connectors(protection: Protection) -> dict[str, str]:
    """Return the state of each of the group's connectors, tasks included, as Connect shows it."""
    found = {}
    for cluster in protection.lab.clusters:
        url = cluster.connect_url(protection.lab.settings)
        with urllib.request.urlopen(f"{url}/connectors?expand=status", timeout=20) as answer:  # noqa: S310 - the lab's own
            for name, described in json.load(answer).items():
                if name.startswith(f"dr.{protection.name}."):
                    status = described["status"]
                    states = [status["connector"]["state"], *sorted(task["state"] for task in status["tasks"])]
                    found[name] = " ".join(states)
    return found


def contents(protection: Protection, cluster: str, *, seconds: float = 30) -> dict[TopicPartition, list[Content]]:
    """Return every committed record of the group's topics and copies in its order, read by a plain client."""
    settings = protection.lab.client_settings(cluster, "admin")
    consumer = Consumer(
        {
            **settings,
            "group.id": f"onlooker-{protection.name}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # at the end of a log, half a second by default
        }
    )
    try:
        topics = consumer.list_topics(timeout=20).topics
        begins = _begin(protection, cluster, f"{protection.name}.")
        owned = {n: t for n, t in topics.items() if n.startswith(begins)}
        wanted = [TopicPartition(name, number) for name, topic in owned.items() for number in topic.partitions]
        consumer.assign([ClientPartition(p.topic, p.partition, 0) for p in wanted])
        found: dict[TopicPartition, list[Content]] = {p: [] for p in wanted}
        open_partitions, deadline = set(wanted), time.monotonic() + seconds
        while open_partitions:
            assert time.monotonic() < deadline, f"{cluster} did not show {open_partitions} to its end in {seconds} s"
            for message in consumer.consume(5000, timeout=0.1):
                partition = TopicPartition(message.topic(), message.partition())
                if message.error() is not None:
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    open_partitions.discard(partition)
                    continue
                headers = tuple(message.headers() or ())
                found[partition].append((message.timestamp()[1], message.key(), message.value(), headers))
        return found
    finally:
        consumer.close()


def next_values(
    protection: Protection, cluster: str, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, bytes | None]:
    """Return the value of the record that a group would read next, ``None`` at the end: what no group may miss."""
    settings = protection.lab.client_settings(cluster, "admin")
    consumer = Consumer(
        {
            **settings,
            "group.id": f"onlooker-{protection.name}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # at the end of a log, half a second by default
            "auto.offset.reset": "error",
        }
    )
    try:
        consumer.assign([ClientPartition(p.topic, p.partition, offset) for p, offset in positions.items()])
        found: dict[TopicPartition, bytes | None] = {}
        deadline = time.monotonic() + 30
        while len(found) < len(positions):
            assert time.monotonic() < deadline, f"{cluster} did not show what is next at {positions}"
            message = consumer.poll(0.1)
            if message is None:
                continue
            partition = TopicPartition(message.topic(), message.partition())
            at_end = message.error() is not None
            assert not at_end or message.error().code() == KafkaError._PARTITION_EOF, message.error()
            found.setdefault(partition, None if at_end else message.value())
        return found
    finally:
        consumer.close()


def broker_of(cluster: str) -> str:
    """Return the name of the lab's process that is this cluster."""
    return f"{cluster}-broker-1"
