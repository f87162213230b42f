"""Somebody else's MirrorMaker 2 on a Connect worker of its own: at least once, with a principal of its own."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient, SourceOffset
from kafka_dr.replication.mirrormaker_flows import MirrorMakerFlows
from kafka_dr.runs.group_context import GroupContext
from lab import rights
from lab.api import Lab
from lab.credentials import write_private
from support.java_processes import java_processes
from support.protection import Protection

#: Writes the copy. No group of these tests uses it otherwise.
PRINCIPAL = rights.DRILL
#: The connection id of the worker's REST API.
CONNECTION = "connect_west-old"
_SECONDS = 60.0
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


@dataclass(slots=True)
class OldWorker:
    """A Connect worker on west that copies at least once, and commits only when it ends in order.

    :param folder: of its own files
    """

    lab: Lab
    folder: Path
    port: int
    group_id: str = "connect-west-old"
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> HttpEndpoint:
        """Where its REST API is."""
        return HttpEndpoint(f"http://127.0.0.1:{self.port}")

    def start(self) -> None:
        """Start it, and wait until it serves."""
        own = {
            "group.id": self.group_id,
            "listeners": f"http://127.0.0.1:{self.port}",
            "exactly.once.source.support": "disabled",
            # What a kill takes: everything that was copied since the worker began.
            "offset.flush.interval.ms": 3_600_000,
            **{f"{each}.storage.topic": f"{self.group_id}-{each}s" for each in ("offset", "config")},
            "status.storage.topic": f"{self.group_id}-status",
        }
        properties = self.folder / "worker.properties"
        written = (self.lab.home.connect("west") / "worker.properties").read_text()
        write_private(properties, written + "".join(f"{name}={value}\n" for name, value in own.items()))
        command = java_processes().argv(
            "org.apache.kafka.connect.cli.ConnectDistributed", str(properties), heap_megabytes=256, folder=self.folder
        )
        with (self.folder / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _SECONDS
        with ConnectClient(self.endpoint, clock=SystemClock()) as connect:
            while True:
                with suppress(KafkaDrError):
                    connect.connectors()
                    return
                log_text = (self.folder / "worker.log").read_text()
                assert self.process.poll() is None, log_text[-3000:]
                assert time.monotonic() < deadline, log_text[-3000:]
                time.sleep(0.2)

    def kill(self) -> None:
        """End it without any time to commit."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def old_worker(lab: Lab, folder: Path, port: int) -> Iterator[OldWorker]:
    """Run such a worker."""
    folder.mkdir(exist_ok=True)
    worker = OldWorker(lab, folder, port)
    try:
        worker.start()
        yield worker
    finally:
        worker.kill()


@dataclass(slots=True)
class ExistingFlow:
    """The replication of one group by somebody else, from east to west.

    :param worker: runs its connector
    :param begins: how the topics begin that it copies, next to the group's own name
    :param only: the one topic that it copies, if that is not all of the group
    """

    protection: Protection
    worker: OldWorker
    connect: ConnectClient = field(init=False)
    begins: tuple[str, ...] = ()
    only: str = ""

    def __post_init__(self) -> None:
        self.connect = ConnectClient(self.worker.endpoint, clock=SystemClock())

    @property
    def name(self) -> str:
        """The name of its connector."""
        return f"old-{self.protection.name}"

    def declared(self) -> dict[str, object]:
        """Return what the topology says of it."""
        from kafka_dr.topology.existing import ExistingReplicationSpec

        spec = ExistingReplicationSpec(
            replicator="mirrormaker_connect",
            principal=f"User:{PRINCIPAL}",
            connect=CONNECTION,
            connectors=(self.name,),
        )
        return {"existing_replication": spec, "drill": None}

    def allow(self) -> None:
        """Let its principal write the copies on west, as a replicator may."""
        operations = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.ALTER)
        with self.protection.cluster("west", "admin") as admin:
            admin.acls.add(
                [
                    replace(self.right(each), name=self.protection.copy_name(begin))
                    for each in operations
                    for begin in (f"{self.protection.name}.", *self.begins)
                ]
            )

    def right(self, operation: AclOperation, permission: AclPermission = AclPermission.ALLOW) -> Acl:
        """Return a right of its principal on the copies of the group's topics."""
        topics, prefixed = ResourceType.TOPIC, PatternType.PREFIXED
        begin = self.protection.copy_name(f"{self.protection.name}.")
        return Acl(topics, begin, prefixed, f"User:{PRINCIPAL}", operation, permission)

    def config(self) -> dict[str, str]:
        """Return the connector's settings: those of its own principal are a reference."""
        lab, begins = self.protection.lab, (f"{self.protection.name}.", *self.begins)
        secrets = lab.home.connect("west") / "old.properties"
        settings = lab.client_settings("west", PRINCIPAL)
        login = (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{settings["sasl.username"]}" password="{settings["sasl.password"]}";'
        )
        write_private(secrets, f"west.sasl.jaas.config={login}\n")
        with self.protection.clients() as clients:
            group = GroupContext(self.protection.name, clients).group
            own = MirrorMakerFlows(clients).replicator(self.protection.flow, group).config()
        access = {key: value for key, value in own.items() if key.startswith(("source.cluster.", "target.cluster."))}
        producer = {
            f"producer.override.{key.removeprefix('target.cluster.')}": value
            for key, value in access.items()
            if key.startswith("target.cluster.s")
        }
        return {
            **access,
            **producer,
            "producer.override.sasl.jaas.config": f"${{file:{secrets}:west.sasl.jaas.config}}",
            "connector.class": own["connector.class"],
            **_naming(own),
            "topics": self.only or ",".join(rf"{re.escape(begin)}.*" for begin in begins),
            "tasks.max": "1",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "header.converter": _BYTES,
            "sync.topic.configs.enabled": "false",
            "sync.topic.acls.enabled": "false",
            "refresh.topics.interval.seconds": "2",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "offset-syncs.topic.location": "target",
            "consumer.poll.timeout.ms": "100",
        }

    def start(self) -> None:
        """Create the connector, and wait until it runs."""
        self.connect.create(self.name, {key: v for key, v in self.config().items() if key != "name"}, stopped=False)
        assert self.connect.wait_for(self.name, "running", deadline_seconds=_SECONDS).settled == "running"

    def wait_copied(self, records: Mapping[TopicPartition, int], seconds: float = 30) -> None:
        """Wait until the copies on west end at or after these offsets."""
        self.protection.wait_for_ends("west", {self.protection.copy(p): end for p, end in records.items()}, seconds)

    def die_and_come_back(self) -> None:
        """Kill the worker before it commits what it has copied: after it is back, it copies that again."""
        self.worker.kill()
        self.worker.start()
        self.connect.wait_for(self.name, "running", deadline_seconds=_SECONDS)

    def skip(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Move its positions forward: what is in between is never copied.

        :param offsets: next to read
        """
        self.connect.stop(self.name)
        self.connect.wait_for(self.name, "stopped", deadline_seconds=_SECONDS)
        self.connect.set_offsets(
            self.name,
            [
                SourceOffset({"cluster": "east", "partition": p.partition, "topic": p.topic}, {"offset": offset - 1})
                for p, offset in offsets.items()
            ],
        )
        self.connect.resume(self.name)
        self.connect.wait_for(self.name, "running", deadline_seconds=_SECONDS)

    def end(self) -> None:
        """Remove the connector."""
        with suppress(KafkaDrError):
            self.connect.delete(self.name)
        self.connect.close()


def _naming(own: Mapping[str, str]) -> dict[str, str]:
    """Return how the connector names copies: as this project's own one, and nothing where that is a bare default."""
    found = {key: value for key, value in own.items() if key.startswith("replication.policy.")}
    return {} if found.get("replication.policy.separator") == "." else found
