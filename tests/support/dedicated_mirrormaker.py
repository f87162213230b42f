"""Somebody else's dedicated MirrorMaker for one copy, killed before it commits what it has copied."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.mirrormaker import MirroredFlow, prepare
from support.java_processes import java_processes
from support.others_copy import OthersCopy

_SETTINGS = {
    "emit.heartbeats.enabled": "false",
    "refresh.topics.interval.seconds": 2,
    "refresh.groups.interval.seconds": 2,
    "emit.checkpoints.interval.seconds": 1,
    # What a kill takes: everything that was copied since this process began.
    "offset.flush.interval.ms": 3_600_000,
}


@dataclass(frozen=True, slots=True)
class DedicatedMirrorMaker:
    """MirrorMaker from east to west for what one copy is about.

    :param copy: names topics, groups and the alias of the source
    """

    copy: OthersCopy

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run it, and kill it with the block: it has no time to commit what it has copied."""
        command = prepare(self._flow(), self.copy.folder / "mirrormaker", jvm=java_processes())
        with (command.folder / "log").open("ab") as log:
            process = subprocess.Popen(command.argv, stdout=log, stderr=subprocess.STDOUT, cwd=command.folder)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def _flow(self) -> MirroredFlow:
        source, target = self.copy.alias, f"{self.copy.alias}w"
        files = {each.name: each.java_client_settings["admin"] for each in self.copy.lab.status().clusters}
        return MirroredFlow(
            source,
            target,
            topics=self.copy.topic.replace(".", "\\."),
            groups=f"orders-{source}.*",
            access={alias: _properties(files[cluster]) for alias, cluster in ((source, "east"), (target, "west"))},
            settings=_SETTINGS,
        )


def _properties(path: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in path.read_text().splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in lines}
