"""A share group on the lab's brokers, made by Kafka's own console share consumer: librdkafka makes none."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.protocol_client import ProtocolClient
from lab import jars, java
from lab.api import Lab
from lab.bootstrap import cache_folder
from lab.jvm import Jvm

_SECONDS = 60
#: The protocol's numbers for a group among the resources of configurations, and for setting a value.
_GROUP, _SET = 32, 0


def begin_at_the_start(lab: Lab, cluster: str, group: str) -> None:
    """Let a share group begin at the start of its topics; by default it begins at their ends."""
    change = ("share.auto.offset.reset", _SET, "earliest")
    wanted = IncrementalAlterConfigsRequest(resources=[(_GROUP, group, [change])], validate_only=False)
    settings = ClientSettings.from_librdkafka(lab.client_settings(cluster, "admin"))
    client = ProtocolClient(**settings.kafka_python())
    try:
        answer = client.request(wanted)
    finally:
        client.close()
    assert [row.error_code for row in answer.responses] == [0], answer


def join_share_group(
    lab: Lab, cluster: str, group: str, *, topic: str, folder: Path, is_known: Callable[[], bool]
) -> None:
    """Let a member of a share group look for records, and leave; again, until the coordinator knows what it reads.

    On a slow machine the member may leave before it was given a partition.
    """
    environ = dict(os.environ)
    jvm = Jvm(
        java_home=java.java_home(environ),
        jars=jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda _done, _of: None),
    )
    argv = jvm.argv(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        *("--bootstrap-server", lab.client_settings(cluster, "admin")["bootstrap.servers"]),
        *("--command-config", str(lab.home.client(cluster, "admin").with_suffix(".java.properties"))),
        *("--topic", topic, "--group", group, "--timeout-ms", "2000"),
        heap_megabytes=128,
        folder=folder,
    )
    deadline = time.monotonic() + _SECONDS
    while not is_known():
        assert time.monotonic() < deadline, f"the coordinator does not know what {group} reads after {_SECONDS} s"
        subprocess.run(argv, check=True, capture_output=True, timeout=_SECONDS)
