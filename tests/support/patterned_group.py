"""A protection group with topics by pattern, in the shared lab: names that no declared prefix covers."""

from __future__ import annotations

import time
from dataclasses import replace

from kafka_dr.clusters import Acl, AclPermission, ResourceType, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from lab import rights
from support.protection import Protection
from support.switched_group import SwitchedGroup

_SECONDS = 60


class PatternedGroup(SwitchedGroup):
    """Its topics are those of a switched group, and whatever its pattern matches."""

    @property
    def begin(self) -> str:
        """How the topics begin that the pattern matches, and some that it does not."""
        return f"{self.name}x."

    @classmethod
    def declared(cls, protection: Protection) -> PatternedGroup:
        """Declare a group with a pattern, and give the principals their rights on what it may match."""
        made = cls(protection)
        protection.changes["topic_patterns"] = (rf"{protection.name}x\.(eu|us)\.[a-z]+",)
        for cluster in protection.lab.settings.names:
            of_topics = [acl for acl in protection._acls(cluster) if acl.resource is ResourceType.TOPIC]
            with protection.cluster(cluster, "admin") as admin:
                admin.acls.add([replace(acl, name=made.begin) for acl in of_topics])
        return made

    def create(self, cluster: str, topic: str) -> str:
        """Create a topic as somebody would that this project does not know, and return its name."""
        name = f"{self.begin}{topic}"
        with self.protection.cluster(cluster, "admin") as admin:
            admin.topics.create(name, partitions=1, replication_factor=1, config={})
        return name

    def write(self, cluster: str, name: str, count: int = 5) -> None:
        """Write records as an application."""
        with self.protection.cluster(cluster, rights.ORDERS_APP) as client:
            client.writing.append(NewRecord(TopicPartition(name, 0), b"k", b"v") for _ in range(count))

    def is_writable(self, cluster: str, name: str) -> bool:
        """Ask the leader whether an application may write; nothing is appended."""
        with self.protection.cluster(cluster, rights.ORDERS_APP) as client:
            (answer,) = client.write_permission.ask([TopicPartition(name, 0)])
            return answer.verdict == "allowed"

    def exists(self, cluster: str, name: str) -> bool:
        """Return whether a cluster has a topic."""
        with self.protection.cluster(cluster, "admin") as admin:
            return name in admin.topics.names()

    def records(self, cluster: str, name: str) -> int:
        """Return the log end of a topic's only partition."""
        with self.protection.cluster(cluster, "admin") as admin:
            p = TopicPartition(name, 0)
            return admin.topics.last_stable_offsets([p])[p]

    def wait_copied_to(self, cluster: str, name: str) -> None:
        """Wait until a cluster holds records of a topic."""
        deadline = time.monotonic() + _SECONDS
        while not (self.exists(cluster, name) and self.records(cluster, name)):
            assert time.monotonic() < deadline, f"{name} is not on {cluster} after {_SECONDS} s"
            time.sleep(0.2)

    def denied(self, cluster: str) -> dict[str, set[str]]:
        """Return who is denied something, by topic of the pattern's beginning."""
        found: dict[str, set[str]] = {}
        with self.protection.cluster(cluster, "admin") as admin:
            acls: frozenset[Acl] = admin.acls.list()
        for acl in acls:
            if acl.permission is AclPermission.DENY and acl.name.startswith(self.begin):
                found.setdefault(acl.name, set()).add(acl.principal)
        return found
