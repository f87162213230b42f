"""Commands of Kafka's own tools for what a failover does not move: share groups and Kafka Streams applications.

Seen of Kafka 4.3: the tool of share groups takes a time and no offset. The tool of consumer groups changes no group of
another kind. Names of groups and topics are quoted for the shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.positions import TopicPartition

#: The file with the settings of a Java client, of the application's owner: who runs the commands writes it.
CLIENT_FILE = "owner.properties"


@dataclass(frozen=True, slots=True)
class ShareStart:
    """Where a share group should begin in one partition of the target, by what its tool takes.

    :param time_ms: the time of a record at or before the first one that is not done with, in milliseconds since the
        epoch. The tool begins at the first record that is as young: never after it. ``None``: the start of the log
    """

    group: str
    partition: TopicPartition
    time_ms: int | None


def reset_share_group(access: ToolAccess, starts: Iterable[ShareStart]) -> tuple[str, ...]:
    """Return the commands that let share groups without members begin there; the partitions of one time share one."""
    together: dict[tuple[str, str, int | None], list[int]] = {}
    for each in starts:
        together.setdefault((each.group, each.partition.topic, each.time_ms), []).append(each.partition.partition)
    return tuple(
        f"{access.tool('kafka-share-groups.sh')} --group {shlex.quote(group)} --reset-offsets --topic "
        f"{shlex.quote(topic + ':' + ','.join(map(str, sorted(numbers))))} {_since(time_ms)} --execute"
        for (group, topic, time_ms), numbers in together.items()
    )


def _since(time_ms: int | None) -> str:
    if time_ms is None:
        return "--to-earliest"
    at = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"--to-datetime {at:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}"


def reset_streams_application(
    access: ToolAccess, application: str, *, inputs: Sequence[str], internal: Sequence[str], own_protocol: bool
) -> str:
    """Return the command that lets a stopped Kafka Streams application read all of its input again.

    :param inputs: the topics that it reads and does not make
    :param internal: its internal topics on that cluster, which are deleted
    :param own_protocol: whether its group is of the protocol of KIP-1071, which has a tool of its own
    """
    name = shlex.quote(application)
    if own_protocol:
        tool = access.tool("kafka-streams-groups.sh")
        return f"{tool} --group {name} --reset-offsets --all-input-topics --to-earliest --execute"
    # Kafka 3 does not know --command-config.
    tool = access.tool("kafka-streams-application-reset.sh", "--config-file")
    named = (("--input-topics", inputs), ("--internal-topics", internal))
    options = "".join(f" {option} {shlex.quote(','.join(topics))}" for option, topics in named if topics)
    return f"{tool} --application-id {name}{options}"
