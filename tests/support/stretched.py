"""A cluster over three sites, with the principals that look at it, and topics whose replicas a test chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka.admin import AdminClient, NewTopic

from lab.credentials import ADMIN
from lab.rights import ALTER, DESCRIBE, DESCRIBE_CONFIGS, WRITE, Resource, Right
from lab.stretch import StretchedCluster
from support.command_line import Said, called
from support.waiting import eventually

OBSERVER, SHORTSIGHTED, BLIND, PROBE = "stretch-observer", "stretch-shortsighted", "stretch-blind", "stretch-probe"
MOVER = "stretch-mover"
DELAY, PREFIX = "kafka-dr-delay", "stretch."
_CLUSTER, _TOPIC, _LOOK = Resource.CLUSTER, Resource.TOPIC, (DESCRIBE, DESCRIBE_CONFIGS)
_RIGHTS = (
    Right(OBSERVER, _CLUSTER, "kafka-cluster", _LOOK, "what the guide asks for"),
    Right(OBSERVER, _TOPIC, "*", _LOOK, "what the guide asks for"),
    Right(SHORTSIGHTED, _CLUSTER, "kafka-cluster", _LOOK, "it sees a part of the topics"),
    Right(SHORTSIGHTED, _TOPIC, f"{PREFIX}seen*", _LOOK, "it sees a part of the topics"),
    Right(BLIND, _TOPIC, f"{PREFIX}*", (DESCRIBE,), "it sees topics, and nothing of the cluster"),
    Right(MOVER, _CLUSTER, "kafka-cluster", (ALTER, DESCRIBE), "what the guide asks for"),
    Right(PROBE, _TOPIC, DELAY, (DESCRIBE, WRITE), "what the guide asks for"),
)


@dataclass(frozen=True, slots=True)
class Stretched:
    """The cluster; brokers 1 and 4 are in site-a, 2 and 5 in site-b, 3 and 6 in site-c."""

    cluster: StretchedCluster

    @classmethod
    def prepare(cls, folder: Path, *, port_base: int, controllers_apart: bool = False) -> Stretched:
        """Take a folder and ports; nothing is started.

        :param controllers_apart: whether nodes 4, 5 and 6 are controllers alone
        """
        kinds = {"slow_links": not controllers_apart, "controllers_apart": controllers_apart}
        users = (OBSERVER, SHORTSIGHTED, BLIND, PROBE, MOVER)
        return cls(StretchedCluster.prepare(folder, port_base=port_base, principals=users, **kinds))

    def start(self) -> None:
        """Start it, with nothing but these principals' own topics."""
        self.cluster.start(_RIGHTS)
        self._remove(lambda name: not name.startswith("__"))

    def create(self, name: str, *replicas: Sequence[int], min_in_sync: int = 2) -> None:
        """Create a topic with these replicas."""
        config = {"min.insync.replicas": str(min_in_sync)}
        new = NewTopic(
            name, num_partitions=len(replicas), replica_assignment=[[*each] for each in replicas], config=config
        )
        with AdminClient(self._settings(ADMIN)) as admin:
            admin.create_topics([new])[name].result(20)
        eventually(lambda: self.in_sync([name]) == {(name, n): {*row} for n, row in enumerate(replicas)})

    def in_sync(self, topics: Iterable[str]) -> dict[tuple[str, int], set[int]]:
        """Return the in-sync replicas of partitions, as any client sees them."""
        return {p: {*row.isrs} for p, row in self._seen().items() if p[0] in {*topics}}

    def leaders(self) -> dict[tuple[str, int], int | None]:
        """Return the leaders of all partitions, as any client sees them."""
        return {p: row.leader if row.leader >= 0 else None for p, row in self._seen().items()}

    def remove_topics(self) -> None:
        """Remove what a test has made."""
        self._remove(lambda name: name.startswith(PREFIX) or name == DELAY)

    def run(
        self, folder: Path, *arguments: str, principal: str = OBSERVER, password: str = "", **declared: Any
    ) -> Said:
        """Run ``kafka_dr stretch metro`` as a principal.

        :param password: another one than the principal has
        :param declared: more keys of the cluster in the topology
        """
        topology, connections = folder / "topology.yaml", folder / "connections.json"
        spec = {"connection": principal, "acks": "all", **declared}
        topology.write_text(yaml.safe_dump({"evidence": {"root": str(folder)}, "stretch_clusters": {"metro": spec}}))
        stored: dict[str, dict[str, Any]] = {
            each: {"conn_type": "kafka", "extra": self._settings(each)} for each in (principal, PROBE, MOVER)
        }
        if password:
            stored[principal]["extra"] = {**self._settings(principal), "sasl.password": password}
        connections.touch(mode=0o600)
        connections.write_text(json.dumps(stored))
        environ = {"KAFKA_DR_TOPOLOGY": str(topology), "KAFKA_DR_CONNECTIONS": str(connections)}
        return called("stretch", "metro", *arguments, **environ)

    def looked(
        self, folder: Path, *, principal: str = OBSERVER, arguments: Sequence[str] = (), **declared: Any
    ) -> dict[str, Any]:
        """Return the report, with the exit code."""
        said = self.run(folder, "--json", *arguments, principal=principal, **declared)
        assert said.out, said.err
        return {**said.json, "exit_code": said.code}

    def _settings(self, principal: str) -> dict[str, str]:
        return self.cluster.client_settings(principal)

    def _seen(self) -> dict[tuple[str, int], Any]:
        with AdminClient({**self._settings(ADMIN), "log_level": 0}) as admin:
            found = admin.list_topics(timeout=20)
        return {(topic.topic, n): row for topic in found.topics.values() for n, row in topic.partitions.items()}

    def _remove(self, wanted: Any) -> None:
        with AdminClient(self._settings(ADMIN)) as admin:
            names = [name for name in admin.list_topics(timeout=20).topics if wanted(name)]
            for future in (admin.delete_topics(names) if names else {}).values():
                future.result(20)
        eventually(lambda: not {name for name, _ in self._seen()} & {*names})
