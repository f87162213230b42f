"""MirrorMaker's checkpoints as Kafka's own tool prints them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from kafka_dr.positions import TopicPartition
from lab import jars, java
from lab.bootstrap import cache_folder
from lab.demo.observed.others_flow import CHECKPOINTS, copy_of
from lab.errors import LabError

_TOOL = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_FORMATTER = "org.apache.kafka.connect.mirror.formatters.CheckpointFormatter"
_LINE = re.compile(
    r"consumerGroupId=(?P<group>[^,]+), topicPartition=(?P<topic>.+)-(?P<partition>\d+), "
    r"upstreamOffset=\d+, downstreamOffset=(?P<offset>\d+)"
)
#: The tool ends with the last record; or when nothing came for so long, and then something is wrong.
_SILENCE_MS = 90_000
_SECONDS = 240.0

#: By group and partition of the source: next to read on the target.
Checkpointed = dict[str, dict[TopicPartition, int]]


def read_checkpoints(bootstrap: str, client: Path, *, records: int) -> Checkpointed:
    """Return the newest checkpoint of each group in each partition.

    :param client: the file with a Java client's settings
    :param records: how many records the topic holds
    :raises LabError: the tool cannot read them
    """
    if not records:
        return {}
    environ = dict(os.environ)
    kafka = jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda *_: None)
    argv = [str(java.java_home(environ) / "bin" / "java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    argv += ["-cp", f"{kafka}/*", _TOOL, "--bootstrap-server", bootstrap, "--command-config", str(client)]
    argv += ["--topic", CHECKPOINTS, "--from-beginning", "--formatter", _FORMATTER]
    argv += ["--max-messages", str(records), "--timeout-ms", str(_SILENCE_MS)]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if said.stdout.count("\n") < records:
        raise LabError(f"{_TOOL} printed fewer than {records} records of {CHECKPOINTS}: {said.stderr.strip()[-1000:]}")
    return parse(said.stdout)


def parse(text: str) -> Checkpointed:
    """Read what the tool prints; of several lines about the same partition the last one counts."""
    found: Checkpointed = {}
    for line in _LINE.finditer(text):
        topic = line["topic"].removeprefix(copy_of(""))
        found.setdefault(line["group"], {})[TopicPartition(topic, int(line["partition"]))] = int(line["offset"])
    return found
