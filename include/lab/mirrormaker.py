"""Somebody else's dedicated MirrorMaker 2: one process of Kafka's own jars, at least once, without a REST API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.credentials import write_private
from lab.jvm import Jvm
from lab.processes import Command

NAME = "mirrormaker"
HEAP_MEGABYTES = 256
#: It commits what it has copied when it is asked to end, and says goodbye to its group.
GRACE_SECONDS = 45.0
_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
#: How many copies of the topics that it makes: the lab's clusters have one broker.
_COPIES = (
    "replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "offset-syncs.topic.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
    "config.storage.replication.factor",
)


@dataclass(frozen=True, slots=True)
class MirroredFlow:
    """What is copied, under the names of ``DefaultReplicationPolicy``.

    :param source: alias of the source
    :param target: alias of the target
    :param topics: a regular expression of Java
    :param groups: likewise
    :param access: by alias, how its cluster is reached, in the names of Java clients; with passwords
    :param settings: more settings; they have the last word
    """

    source: str
    target: str
    topics: str
    groups: str
    access: Mapping[str, Mapping[str, str]] = field(repr=False)
    settings: Mapping[str, object] = field(default_factory=dict)

    def properties(self) -> str:
        """Return the file that the process reads."""
        flow, back = f"{self.source}->{self.target}", f"{self.target}->{self.source}"
        values: dict[str, object] = {
            "clusters": f"{self.source},{self.target}",
            f"{flow}.enabled": "true",
            f"{flow}.topics": self.topics.replace("\\", "\\\\"),
            f"{flow}.groups": self.groups.replace("\\", "\\\\"),
            f"{back}.enabled": "false",
            f"{back}.emit.heartbeats.enabled": "false",
            **dict.fromkeys(_COPIES, 1),
            **self.settings,
        }
        for alias, access in self.access.items():
            values |= {f"{alias}.{name}": value for name, value in access.items()}
        return "".join(f"{name}={value}\n" for name, value in values.items())


def prepare(flow: MirroredFlow, folder: Path, *, jvm: Jvm) -> Command:
    """Write the settings, readable by their owner alone, and say how to start the process.

    :param folder: of the process's own files
    """
    settings = folder / "mm2.properties"
    write_private(settings, flow.properties())
    argv = jvm.argv(_MAIN, str(settings), heap_megabytes=HEAP_MEGABYTES, folder=folder)
    return Command(name=NAME, argv=argv, folder=folder, grace_seconds=GRACE_SECONDS)
