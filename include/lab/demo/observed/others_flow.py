"""Somebody else's replication from east to west, and the principal that observes it: rights, process, names."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kafka_dr.positions import TopicPartition
from lab import class_archives, clients, credentials, jars, java, provisioning, rights
from lab.api import Lab
from lab.bootstrap import cache_folder
from lab.clusters import EAST, WEST, Cluster
from lab.context import LabContext
from lab.jvm import Jvm
from lab.mirrormaker import NAME, MirroredFlow, prepare
from lab.rights import (
    ALL,
    CREATE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    WRITE,
    Resource,
    Right,
)

MIRRORMAKER, OBSERVER = "mirrormaker", "observer"
#: What MirrorMaker's own topics are called, by its default policy.
CHECKPOINTS, POSITIONS = f"{EAST.name}.checkpoints.internal", f"mm2-offsets.{EAST.name}.internal"
GROUP_PREFIXES = ("orders-", "billing-")
_SYNCS = f"mm2-offset-syncs.{WEST.name}.internal"
_T, _G = Resource.TOPIC, Resource.GROUP

#: Who observes may look, and nothing else.
_LOOK = (READ, DESCRIBE, DESCRIBE_CONFIGS)
ON_SOURCE: tuple[Right, ...] = (
    Right(MIRRORMAKER, _T, "orders.*", (READ, DESCRIBE, DESCRIBE_CONFIGS), "read what it copies"),
    Right(MIRRORMAKER, _T, _SYNCS, (CREATE, READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS), "its offset syncs"),
    Right(MIRRORMAKER, _G, "*", (DESCRIBE,), "read the offsets that checkpoints are made from"),
    Right(OBSERVER, _T, "orders.*", _LOOK, "read the originals"),
    Right(OBSERVER, _G, "*", (DESCRIBE,), "read what groups have committed"),
)
ON_TARGET: tuple[Right, ...] = (
    Right(MIRRORMAKER, _T, f"{EAST.name}.*", (ALL,), "write the copy, and its checkpoints"),
    Right(MIRRORMAKER, _T, "mm2-*", (ALL,), "keep its settings, its positions and its state"),
    Right(MIRRORMAKER, _T, "heartbeats", (ALL,), "show that it lives"),
    Right(MIRRORMAKER, _G, f"{EAST.name}-mm2", (READ, DESCRIBE), "its own group"),
    Right(MIRRORMAKER, _G, "*", (DESCRIBE,), "see which groups are in use on the target"),
    Right(OBSERVER, _T, f"{EAST.name}.*", _LOOK, "read the copies and the checkpoints"),
    Right(OBSERVER, _G, "*", (DESCRIBE,), "read what groups have committed"),
)
#: What its owners have set, next to the usual settings. Its connector would also copy ACLs, which are kept elsewhere.
_SETTINGS = {
    "sync.topic.acls.enabled": "false",
    # Else nobody would see a checkpoint in the first minute.
    "emit.checkpoints.interval.seconds": 5,
}


def copy_of(topic: str) -> str:
    """Return what the copy of a topic is called on the target."""
    return f"{EAST.name}.{topic}"


def copy_partition(partition: TopicPartition) -> TopicPartition:
    """Return the copy of a partition."""
    return TopicPartition(copy_of(partition.topic), partition.partition)


class OthersFlow:
    """A dedicated MirrorMaker as a process of the lab, which ends with the lab.

    :param lab: its brokers run
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        principals = (*rights.PRINCIPALS, MIRRORMAKER, OBSERVER)
        passwords = credentials.obtain(lab.home, clusters=lab.settings.names, principals=principals)
        self._context = LabContext(lab.home, lab.settings, passwords)

    def admit(self) -> None:
        """Create both principals, with their rights."""
        given: Sequence[tuple[Cluster, Sequence[Right]]] = ((EAST, ON_SOURCE), (WEST, ON_TARGET))
        for cluster, table in given:
            provisioning.admit(self._context, cluster, table)

    def client_settings(self, cluster: str, principal: str) -> dict[str, str]:
        """Return the settings of a principal in librdkafka's names, with its password."""
        return clients.librdkafka(self._context, self._lab.cluster(cluster), principal)

    def start(self) -> None:
        """Start the process; it copies a few seconds later."""
        environ = dict(os.environ)
        home, cache = java.java_home(environ), cache_folder(environ)
        kafka = jars.obtain(jars.KAFKA, cache=cache, environ=environ, progress=lambda *_: None)
        archives = class_archives.folder_of(cache, java_home=home, kafka=kafka)
        jvm = Jvm(java_home=home, jars=kafka, archives=archives)
        self._lab.supervisor.start(prepare(self._flow(), self._lab.home.mirrormaker, jvm=jvm))

    def kill(self) -> None:
        """End it as a crash would: it commits nothing."""
        self._lab.supervisor.kill(NAME)

    def stop(self) -> None:
        """End it politely."""
        self._lab.supervisor.stop(NAME)

    def _flow(self) -> MirroredFlow:
        return MirroredFlow(
            EAST.name,
            WEST.name,
            topics="orders\\..*",
            groups="|".join(f"{prefix}.*" for prefix in GROUP_PREFIXES),
            access={cluster.name: clients.java(self._context, cluster, MIRRORMAKER) for cluster in (EAST, WEST)},
            settings=_SETTINGS,
        )
