"""Kafka's own tools by their names: a folder for PATH, which starts the classes of the lab's jars."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lab import class_archives, jars, java
from lab.bootstrap import cache_folder

_TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-share-groups.sh": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-console-share-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
}


def tools_in(folder: Path) -> Path:
    """Write a start script for each tool, as in the ``bin`` of Kafka's download."""
    home, cache = java.java_home(os.environ), cache_folder(os.environ)
    found = jars.obtain(jars.KAFKA, cache=cache, environ=os.environ, progress=lambda *_: None)
    # The tools load what a broker loads, and start with three quarters of the work.
    archive = class_archives.options(class_archives.folder_of(cache, java_home=home, kafka=found), "kafka.Kafka")
    quick = " ".join(("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", *archive))
    folder.mkdir()
    for name, main in _TOOLS.items():
        script = folder / name
        script.write_text(f"#!/bin/sh\nexec '{home}/bin/java' {quick} -cp '{found}/*' {main} \"$@\"\n")
        script.chmod(0o755)
    return folder


def run_as_printed(lines: str, tools: Path, folder: Path) -> str:
    """Run lines in one shell, which ends at the first one that fails, and return what they said."""
    script = f"set -eu -o pipefail\n{lines}"
    ended = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout
