"""Many small protection groups on the lab's clusters: declared, with rights and topics, and adopted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import yaml
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import (
    Acl,
    ClientSettings,
    KafkaCluster,
    PatternType,
)
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.model import Topology
from lab.api import Lab
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN

_BEGIN = "bench-"
#: The prefixes of the lab's own names.
_OWN = {"orders.", "orders-", "billing-"}
_SECONDS = 120.0
_AT_ONCE = 8


def names(count: int) -> tuple[str, ...]:
    """Return the names of the groups."""
    return tuple(f"{_BEGIN}{number:03d}" for number in range(count))


def declared(topology: Topology, count: int) -> Topology:
    """Return a topology with only these groups, each like the lab's own and with its own names."""
    base = topology.group(PROTECTION_GROUP)
    return topology.model_copy(
        update={
            "protection_groups": {
                name: base.model_copy(
                    update={
                        "name": name,
                        "topic_prefixes": (f"{name}.",),
                        "consumer_group_prefixes": (f"{name}-",),
                        "transactional_id_prefixes": (f"{name}-",),
                        "principals": (f"User:{name}-app",),
                        "route": base.route.for_group(name),
                    }
                )
                for name in names(count)
            }
        }
    )


def written(topology: Path, count: int, folder: Path) -> Path:
    """Write a topology file with these groups in place of the lab's own, and return it.

    :param topology: the file with the lab's own group
    :param folder: where it is written
    """
    declared = yaml.safe_load(topology.read_text("utf-8"))
    base = declared["protection_groups"].pop(PROTECTION_GROUP)
    for name in names(count):
        declared["protection_groups"][name] = {
            **base,
            "topic_prefixes": [f"{name}."],
            "consumer_group_prefixes": [f"{name}-"],
            "transactional_id_prefixes": [f"{name}-"],
            "principals": [f"User:{name}-app"],
            "route": {"kind": "file", "path": f"{base['route']['path']}.{name}"},
        }
    path = folder / "many-groups.yaml"
    path.write_text(yaml.safe_dump(declared), "utf-8")
    return path


def create(lab: Lab, count: int) -> None:
    """Give the principals their rights, and create two topics of each group on every cluster."""
    for cluster in lab.clusters:
        settings = lab.client_settings(cluster.name, ADMIN)
        with KafkaCluster(cluster.name, ClientSettings.from_librdkafka(settings), request_seconds=_SECONDS) as reached:
            reached.acls.add(_acls(lab.allowed_on(cluster.name)))
            known = reached.topics.names()
        admin = AdminClient(settings)
        wanted = [
            NewTopic(f"{name}.{topic}", num_partitions=1, replication_factor=1)
            for name in names(count)
            for topic in ("dr-canary", "records")
            if f"{name}.{topic}" not in known
        ]
        if not wanted:
            continue
        for future in admin.create_topics(wanted, request_timeout=_SECONDS).values():
            future.result(_SECONDS)


def adopt_all(clients: Clients, groups: Iterable[str]) -> None:
    """Adopt the groups: each gets its first record, its fence on the standby and its route."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda name: adopt(name, clients, "bench-adopt"), groups))


def _acls(given: Iterable[Acl]) -> Iterator[Acl]:
    """Yield the lab's rights with the names of these groups in place of the lab's own."""
    return (replace(acl, name=_BEGIN) for acl in given if acl.name in _OWN and acl.pattern is PatternType.PREFIXED)
