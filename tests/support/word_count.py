"""Kafka's own example of a Kafka Streams application: it counts words, and keeps the counts in a changelog topic.

Its state is in memory, so no file of it outlives the process.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from lab import jars, java
from lab.api import Lab
from lab.bootstrap import cache_folder
from support.protection import Protection

#: The example's own topics.
INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
_MAIN = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
_IN_MEMORY = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
_STOP_SECONDS = 60


@contextmanager
def counting(lab: Lab, cluster: str, application: str, folder: Path, *, protocol: str) -> Iterator[None]:
    """Let the application run for a while.

    :param protocol: its ``group.protocol``: classic, or streams (KIP-1071)
    """
    environ, cache = dict(os.environ), cache_folder(os.environ)
    own = [
        jars.obtain(lock, cache=cache, environ=environ, progress=lambda *_: None)
        for lock in (jars.KAFKA, jars.KAFKA_STREAMS)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    settings = lab.home.client(cluster, "admin").with_suffix(".java.properties").read_text()
    servers = lab.client_settings(cluster, "admin")["bootstrap.servers"]
    wanted = {
        "bootstrap.servers": servers,
        "application.id": application,
        "group.protocol": protocol,
        "dsl.store.suppliers.class": _IN_MEMORY,
        "state.dir": str(folder / "state"),
        "replication.factor": "1",
        "commit.interval.ms": "200",
    }
    config = folder / "application.properties"
    config.write_text(settings + "".join(f"{key}={value}\n" for key, value in wanted.items()))
    argv = (
        *(f"{java.java_home(environ)}/bin/java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", ":".join(f"{each}/*" for each in own), _MAIN, str(config)),
    )
    with (folder / "application.log").open("ab") as log:
        process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, f"it ended by itself: see {folder / 'application.log'}"
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def write_words(protection: Protection, cluster: str, text: str, times: int) -> None:
    """Write a line to the application's input, so often."""
    with protection.cluster(cluster, "admin") as admin:
        admin.writing.append(NewRecord(TopicPartition(INPUT, 0), b"", text.encode()) for _ in range(times))


def counts(protection: Protection, cluster: str) -> dict[str, int]:
    """Return the newest count of each word that the application has written."""
    found: dict[str, int] = {}
    with protection.cluster(cluster, "admin") as admin:
        (topic,) = admin.topics.describe([OUTPUT]).values()
        ends = admin.topics.last_stable_offsets(topic.partitions)
        for record in admin.log.read({p: OffsetRange(0, end) for p, end in ends.items() if end}):
            found[(record.key or b"").decode()] = int.from_bytes(record.value or b"", "big")
    return found
