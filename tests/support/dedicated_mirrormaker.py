"""Somebody else's dedicated MirrorMaker: a process of Kafka's own jars, its usual policy, at least once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import jars, java
from lab.bootstrap import cache_folder
from lab.jvm import Jvm
from support.others_copy import OthersCopy

_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
#: How many copies of the topics that it makes for itself: the lab's clusters have one broker.
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
class DedicatedMirrorMaker:
    """MirrorMaker from east to west for what one copy is about.

    :param copy: names topics, groups and the alias of the source
    """

    copy: OthersCopy

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run it, and kill it with the block: it has no time to commit what it has copied."""
        folder = self.copy.folder / "mirrormaker"
        folder.mkdir(exist_ok=True)
        settings = folder / "mm2.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
        settings.chmod(0o600)
        environ = dict(os.environ)
        kafka = jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda *_: None)
        argv = Jvm(java.java_home(environ), kafka).argv(_MAIN, str(settings), heap_megabytes=256, folder=folder)
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def _settings(self) -> Mapping[str, object]:
        source, target = self.copy.alias, f"{self.copy.alias}w"
        flow = f"{source}->{target}"
        found: dict[str, object] = {
            "clusters": f"{source},{target}",
            f"{flow}.enabled": "true",
            f"{flow}.topics": self.copy.topic.replace(".", "\\\\."),
            f"{flow}.groups": f"orders-{source}.*",
            f"{target}->{source}.enabled": "false",
            "emit.heartbeats.enabled": "false",
            "refresh.topics.interval.seconds": 2,
            "refresh.groups.interval.seconds": 2,
            "emit.checkpoints.interval.seconds": 1,
            # What a kill takes: everything that was copied since this process began.
            "offset.flush.interval.ms": 3_600_000,
            **dict.fromkeys(_COPIES, 1),
        }
        files = {each.name: each.java_client_settings["admin"] for each in self.copy.lab.status().clusters}
        for alias, cluster in ((source, "east"), (target, "west")):
            found |= {f"{alias}.{key}": value for key, value in _properties(files[cluster]).items()}
        return found


def _properties(path: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in path.read_text().splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in lines}
