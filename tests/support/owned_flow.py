"""Replication of one group by a process that no API reaches: only its owner's commands, and a DENY, stop it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.topology import ExistingReplicationSpec
from lab import jars, java, rights
from lab.bootstrap import cache_folder
from lab.credentials import write_private
from lab.jvm import Jvm
from lab.mirrormaker import MirroredFlow, prepare
from support.protection import Protection

#: Writes the copy. No group of these tests uses it otherwise.
PRINCIPAL = rights.DRILL
_COPIER = Path(__file__).with_name("record_copier.py")
_SECONDS = 120.0
#: For a shell: the state of the process P. One that has ended may not be reaped yet.
_STATE = "$(cut -d ' ' -f 3 /proc/$P/stat 2>/dev/null)"
_WRITES = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.ALTER)


@dataclass(slots=True)
class OwnedFlow:
    """Such a process for one group, from east to west.

    :param argv: starts it
    :param says: what the topology says of it
    :param commands: whether its owner's commands are declared
    :param others: what else it needs on west
    """

    protection: Protection
    argv: Sequence[str]
    says: Mapping[str, object]
    commands: bool = True
    others: Sequence[Acl] = ()
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.protection.folder / "owned-flow.log"

    @property
    def _process_file(self) -> Path:
        return self.protection.folder / "owned-flow.pid"

    def declared(self) -> dict[str, object]:
        """Return what the topology says."""
        commands = {"stop_command": ("/bin/sh", str(self._stop())), "start_command": ("/bin/sh", str(self._start()))}
        spec = ExistingReplicationSpec(
            **{"principal": f"User:{PRINCIPAL}", **(commands if self.commands else {}), **self.says}
        )
        return {"existing_replication": spec, "drill": None}

    def allow(self) -> None:
        """Let its principal write the copies on west."""
        prefixed, principal = PatternType.PREFIXED, f"User:{PRINCIPAL}"
        acls = [
            Acl(ResourceType.TOPIC, f"{self.protection.name}.", prefixed, principal, each, AclPermission.ALLOW)
            for each in _WRITES
        ]
        with self.protection.cluster("west", "admin") as admin:
            admin.acls.add([*acls, *self.others])

    def start(self) -> None:
        """Start it as its owner does."""
        subprocess.run(["/bin/sh", str(self._start())], check=True)

    def kill(self) -> None:
        """End it without any time to commit."""
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self._process_file.read_text()), signal.SIGKILL)

    def is_running(self) -> bool:
        """Whether the process is there."""
        try:
            stat = Path(f"/proc/{int(self._process_file.read_text())}/stat").read_text()
        except FileNotFoundError:
            return False
        return stat.rsplit(")", 1)[1].split()[0] != "Z"

    def wait_copied(self, records: Mapping[TopicPartition, int], seconds: float = _SECONDS) -> None:
        """Wait until the copies on west end at or after these offsets."""
        deadline = time.monotonic() + seconds
        with self.protection.cluster("west", "admin") as admin:
            while True:
                ends = admin.topics.high_watermarks(records)
                if all(ends[p] >= end for p, end in records.items()):
                    return
                assert time.monotonic() < deadline, (ends, records, self.log.read_text()[-3000:])
                time.sleep(0.1)

    def end(self) -> None:
        """End it, and take its rights away."""
        self.kill()
        with self.protection.cluster("west", "admin") as admin:
            admin.acls.remove(self.others)

    def _start(self) -> Path:
        """Start it, unless it runs."""
        file = self.protection.folder / "start.sh"
        log, pid = shlex.quote(str(self.log)), shlex.quote(str(self._process_file))
        runs = f"P=$(cat {pid} 2>/dev/null || echo none)\ncase {_STATE} in Z|'') ;; *) exit 0;; esac"
        file.write_text(f"{runs}\nsetsid {shlex.join(self.argv)} >> {log} 2>&1 < /dev/null &\necho $! > {pid}\n")
        return file

    def _stop(self) -> Path:
        """Ask it to end, and wait for that; one that has ended is stopped."""
        file = self.protection.folder / "stop.sh"
        pid = f"$(cat {shlex.quote(str(self._process_file))})"
        ended = f"case {_STATE} in Z|'') exit 0;; esac"
        file.write_text(f"P={pid}\nkill -TERM $P 2>/dev/null\nwhile true; do {ended}; sleep 0.1; done\n")
        return file


@contextmanager
def owned(flow: OwnedFlow) -> Iterator[OwnedFlow]:
    """Declare it, let it write, and end it with the block."""
    flow.protection.changes.update(flow.declared())
    flow.allow()
    try:
        yield flow
    finally:
        flow.end()


def own_copier(protection: Protection, *, commands: bool = True) -> OwnedFlow:
    """Return a program that somebody wrote: it consumes and produces."""
    lab, settings = protection.lab, protection.folder / "copier.json"
    given = {
        "group": f"copier-{protection.name}",
        "topic": protection.topic,
        "partitions": protection.partitions,
        "source": lab.client_settings("east", "admin"),
        "target": lab.client_settings("west", PRINCIPAL),
    }
    write_private(settings, json.dumps(given))
    argv = (sys.executable, str(_COPIER), str(settings))
    return OwnedFlow(protection, argv, {"replicator": "external"}, commands)


def former_mirrormaker(protection: Protection, *, commands: bool = True) -> OwnedFlow:
    """Return MirrorMaker 1, from the last Kafka that had it. It keeps no partitions, so the group has one."""
    assert protection.partitions == 1
    kafka = jars.obtain(jars.FORMER_KAFKA, cache=cache_folder(os.environ), environ=os.environ, progress=lambda *_: None)
    files = {name: protection.folder / f"{name}.properties" for name in ("consumer", "producer")}
    own = {"group.id": f"copier-{protection.name}", "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    for name, cluster, principal, more in (("consumer", "east", "admin", own), ("producer", "west", PRINCIPAL, {})):
        values = {**java_properties(protection, cluster, principal), **more}
        write_private(files[name], "".join(f"{key}={value}\n" for key, value in values.items()))
    arguments = ("--consumer.config", str(files["consumer"]), "--producer.config", str(files["producer"]))
    argv = Jvm(java.java_home(os.environ), kafka).argv(
        "kafka.tools.MirrorMaker",
        *arguments,
        "--include",
        protection.topic.replace(".", r"\."),
        "--offset.commit.interval.ms",
        "60000",
        heap_megabytes=256,
        folder=protection.folder,
    )
    return OwnedFlow(protection, argv, {"replicator": "external"}, commands)


def dedicated(protection: Protection, *, commands: bool = True) -> OwnedFlow:
    """Return a MirrorMaker 2 as a process of its own, with the names of the originals."""
    kafka = jars.obtain(jars.KAFKA, cache=cache_folder(os.environ), environ=os.environ, progress=lambda *_: None)
    source, target = f"{protection.name}e", f"{protection.name}w"
    access = {source: java_properties(protection, "east", "admin")}
    flow = MirroredFlow(
        source,
        target,
        topics=rf"{protection.name}\..*",
        groups="none",
        access={**access, target: java_properties(protection, "west", PRINCIPAL)},
        settings={
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.enabled": "false",
            "sync.topic.acls.enabled": "false",
            "sync.topic.configs.enabled": "false",
            "offset-syncs.topic.location": "target",
            "refresh.topics.interval.seconds": 2,
            # Which topics it copies is known by what it has committed. Its worker gets what is said of its target.
            f"{target}.offset.flush.interval.ms": 500,
        },
    )
    command = prepare(flow, protection.folder / "mm2", jvm=Jvm(java.java_home(os.environ), kafka))
    says = {"replicator": "mirrormaker", "source_alias": source}
    return OwnedFlow(protection, command.argv, says, commands, _of_a_dedicated(source, target))


def _of_a_dedicated(source: str, target: str) -> list[Acl]:
    """Return what Connect needs on west for topics and groups of its own, and who may read its positions."""
    literal, allow = PatternType.LITERAL, AclPermission.ALLOW
    topics = [f"mm2-{each}.{source}.internal" for each in ("offsets", "configs", "status", "offset-syncs")]
    found = [Acl(ResourceType.TOPIC, t, literal, f"User:{PRINCIPAL}", AclOperation.ALL, allow) for t in topics]
    found += [
        Acl(ResourceType.GROUP, source, PatternType.PREFIXED, f"User:{PRINCIPAL}", AclOperation.ALL, allow),
        Acl(ResourceType.GROUP, target, PatternType.PREFIXED, f"User:{PRINCIPAL}", AclOperation.ALL, allow),
    ]
    reads = (AclOperation.READ, AclOperation.DESCRIBE)
    return [
        *found,
        *(Acl(ResourceType.TOPIC, topics[0], literal, f"User:{rights.AUDIT}", each, allow) for each in reads),
    ]


def java_properties(protection: Protection, cluster: str, principal: str) -> dict[str, str]:
    """Return how a Java client of a principal reaches a cluster of the lab."""
    files = {each.name: each.java_client_settings[principal] for each in protection.lab.status().clusters}
    lines = (each.partition("=") for each in files[cluster].read_text().splitlines() if "=" in each)
    return {key.strip(): value.strip() for key, _, value in lines}
