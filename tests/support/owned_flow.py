"""Replication of one group by a process that no API reaches: only its owner's commands, and a DENY, stop it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.topology.existing import ExistingReplicationSpec
from lab import jars, java, rights
from lab.bootstrap import cache_folder
from lab.credentials import write_private
from lab.jvm import Jvm
from lab.mirrormaker import MirroredFlow, prepare
from support.java_processes import java_processes
from support.protection import Protection
from support.waiting import eventually

#: Writes the copy. No group of these tests uses it otherwise.
PRINCIPAL = rights.DRILL
_COPIER = Path(__file__).with_name("record_copier.py")
_SECONDS = 120.0
#: No process of a test runs as long: it commits nothing.
_NEVER_MILLISECONDS = 3_600_000
#: For a shell: the state of the process P. One that has ended may not be reaped yet.
_STATE = "$(cut -d ' ' -f 3 /proc/$P/stat 2>/dev/null)"
_WRITES = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.ALTER)


@dataclass(slots=True)
class OwnedFlow:
    """Such a process for one group, from east to west.

    :param argv: starts it
    :param without_commits: starts it so that it commits nothing before it is killed
    :param says: what the topology says of it
    :param begin_at: makes it begin at these offsets, next to read; before it has run
    :param commands: whether its owner's commands are declared
    :param others: what else it needs on west
    :param leaves: topics on west that it leaves, and that another test must not find
    """

    protection: Protection
    argv: Sequence[str]
    without_commits: Sequence[str]
    says: Mapping[str, object]
    begin_at: Callable[[Mapping[TopicPartition, int]], None]
    commands: bool = True
    others: Sequence[Acl] = ()
    leaves: Sequence[str] = ()
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
        begin = self.protection.copy_name(f"{self.protection.name}.")
        acls = [Acl(ResourceType.TOPIC, begin, prefixed, principal, each, AclPermission.ALLOW) for each in _WRITES]
        with self.protection.cluster("west", "admin") as admin:
            admin.acls.add([*acls, *self.others])

    def start(self) -> None:
        """Start it as its owner does, unless it runs."""
        subprocess.run(["/bin/sh", str(self._start())], check=True)

    def start_without_commits(self) -> None:
        """Start it so that it commits nothing before it is killed, and copies all of that again when it runs next."""
        subprocess.run(["/bin/sh", str(self._start("start-without-commits.sh", self.without_commits))], check=True)

    def kill(self) -> None:
        """End it without any time to commit, and wait until it has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self._process_file.read_text()), signal.SIGKILL)
        eventually(lambda: not self.is_running())

    def is_running(self) -> bool:
        """Whether the process is there."""
        try:
            stat = Path(f"/proc/{int(self._process_file.read_text())}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return stat.rsplit(")", 1)[1].split()[0] != "Z"

    def wait_copied(self, records: Mapping[TopicPartition, int], seconds: float = _SECONDS) -> None:
        """Wait until the copies on west end at or after these offsets."""
        copies = {self.protection.copy(p): end for p, end in records.items()}
        self.protection.wait_for_ends("west", copies, seconds, shown=lambda: self.log.read_text()[-3000:])

    def end(self) -> None:
        """End it, and take its rights away."""
        self.kill()
        with self.protection.cluster("west", "admin") as admin:
            admin.acls.remove(self.others)
            admin.topics.delete(admin.topics.names() & set(self.leaves))

    def _start(self, name: str = "start.sh", argv: Sequence[str] | None = None) -> Path:
        """Return a program that starts it, unless it runs.

        :param argv: other than its owner uses
        """
        file = self.protection.folder / name
        log, pid = shlex.quote(str(self.log)), shlex.quote(str(self._process_file))
        runs = f"P=$(cat {pid} 2>/dev/null || echo none)\ncase {_STATE} in Z|'') ;; *) exit 0;; esac"
        file.write_text(
            f"{runs}\nsetsid {shlex.join(argv or self.argv)} >> {log} 2>&1 < /dev/null &\necho $! > {pid}\n"
        )
        return file

    def _stop(self) -> Path:
        """Return a program that asks it to end, and waits for that; one that has ended is stopped."""
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

    def started(name: str, *, commits: bool) -> Sequence[str]:
        given = {
            "group": _group(protection),
            "topic": protection.topic,
            "copy": protection.copy_name(protection.topic),
            "partitions": protection.partitions,
            "commits": commits,
            "source": protection.lab.client_settings("east", "admin"),
            "target": protection.lab.client_settings("west", PRINCIPAL),
        }
        write_private(protection.folder / name, json.dumps(given))
        return sys.executable, str(_COPIER), str(protection.folder / name)

    argv, without = started("copier.json", commits=True), started("copier-without-commits.json", commits=False)
    return OwnedFlow(protection, argv, without, {"replicator": "external"}, _as_a_group(protection), commands)


def former_mirrormaker(protection: Protection, *, commands: bool = True) -> OwnedFlow:
    """Return MirrorMaker 1, from the last Kafka that had it. It keeps no partitions, so the group has one."""
    assert protection.partitions == 1
    kafka = jars.obtain(jars.FORMER_KAFKA, cache=cache_folder(os.environ), environ=os.environ, progress=lambda *_: None)
    files = {name: protection.folder / f"{name}.properties" for name in ("consumer", "producer")}
    own = {"group.id": _group(protection), "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    # So long the group waits for a process that was killed.
    own["session.timeout.ms"] = "6000"
    for name, cluster, principal, more in (("consumer", "east", "admin", own), ("producer", "west", PRINCIPAL, {})):
        values = {**java_properties(protection, cluster, principal), **more}
        write_private(files[name], "".join(f"{key}={value}\n" for key, value in values.items()))
    jvm = Jvm(java.java_home(os.environ), kafka)

    def started(commit_milliseconds: int) -> Sequence[str]:
        named = {
            "--consumer.config": str(files["consumer"]),
            "--producer.config": str(files["producer"]),
            "--include": protection.topic.replace(".", r"\."),
            "--offset.commit.interval.ms": str(commit_milliseconds),
        }
        arguments = (each for pair in named.items() for each in pair)
        return jvm.argv("kafka.tools.MirrorMaker", *arguments, heap_megabytes=256, folder=protection.folder)

    argv, without = started(60_000), started(_NEVER_MILLISECONDS)
    return OwnedFlow(protection, argv, without, {"replicator": "external"}, _as_a_group(protection), commands)


def dedicated(protection: Protection, *, commands: bool = True) -> OwnedFlow:
    """Return a MirrorMaker 2 as a process of its own; copies are named as the group says, by what is left out if bare.

    Its aliases are the group's own, so that it shares no topic, but where they are a part of the names of copies.
    """
    jvm, named = java_processes(), protection.group.renames_copies
    source, target = ("east", "west") if named else (f"{protection.name}e", f"{protection.name}w")
    identity = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
    access = {source: java_properties(protection, "east", "admin")}

    def started(folder: str, commit_milliseconds: int) -> Sequence[str]:
        flow = MirroredFlow(
            source,
            target,
            topics=rf"{protection.name}\..*",
            groups="none",
            access={**access, target: java_properties(protection, "west", PRINCIPAL)},
            settings={
                **({} if named else identity),
                "emit.heartbeats.enabled": "false",
                "emit.checkpoints.enabled": "false",
                "sync.topic.acls.enabled": "false",
                "sync.topic.configs.enabled": "false",
                "offset-syncs.topic.location": "target",
                "refresh.topics.interval.seconds": 2,
                # Which topics it copies is known by what it has committed. Its worker gets what is said of its target.
                f"{target}.offset.flush.interval.ms": commit_milliseconds,
            },
        )
        return prepare(flow, protection.folder / folder, jvm=jvm).argv

    argv, without = started("mm2", 500), started("mm2-without-commits", _NEVER_MILLISECONDS)
    shared = [f"mm2-{each}.{source}.internal" for each in ("offsets", "configs", "status")] if named else []
    says, rights_of_it = {"replicator": "mirrormaker", "source_alias": source}, _of_a_dedicated(source, target)
    return OwnedFlow(
        protection, argv, without, says, _in_offsets_topic(protection, source), commands, rights_of_it, shared
    )


def _group(protection: Protection) -> str:
    """Return the group on east of a process that keeps its positions as consumers do."""
    return f"copier-{protection.name}"


def _as_a_group(protection: Protection) -> Callable[[Mapping[TopicPartition, int]], None]:
    """Return what moves the positions of such a process."""
    return lambda offsets: protection.commit("east", _group(protection), dict(offsets))


def _in_offsets_topic(protection: Protection, source: str) -> Callable[[Mapping[TopicPartition, int]], None]:
    """Return what writes the positions of a dedicated MirrorMaker 2 where and as it keeps them."""
    topic = f"mm2-offsets.{source}.internal"

    def position(partition: TopicPartition, offset: int) -> NewRecord:
        # Connect compares the bytes of the key: the order of the names, and no spaces.
        of = {"cluster": source, "partition": partition.partition, "topic": partition.topic}
        key, value = (
            json.dumps(each, separators=(",", ":")).encode()
            for each in (["MirrorSourceConnector", of], {"offset": offset - 1})
        )
        return NewRecord(TopicPartition(topic, 0), key, value)

    def begin_at(offsets: Mapping[TopicPartition, int]) -> None:
        with protection.cluster("west", "admin") as admin:
            admin.topics.create(topic, partitions=1, replication_factor=1, config={"cleanup.policy": "compact"})
            admin.writing.append([position(partition, offset) for partition, offset in offsets.items()])

    return begin_at


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
