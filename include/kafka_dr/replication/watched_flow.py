"""A flow as the topics of its Connect cluster show it: for an audit, which must not be able to change a flow.

Connect's REST API has no rights of its own: whoever may ask it may also stop, seed and delete connectors. A principal
that may only read the topics in which Connect stores positions and states can do nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from kafka_dr.clusters import KafkaCluster, NotAuthorized, NotFound, TopicPartition
from kafka_dr.replication.connect_positions import CommittedPositions
from kafka_dr.replication.connect_topic import ConnectTopic
from kafka_dr.replication.connector_status import ConnectorStatus, TaskStatus, failure_in, state_in
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import SEED_TOPIC, flow_status
from kafka_dr.replication.replicator import FlowStatus, Positions, WatchedFlow
from kafka_dr.topology.cluster import ClusterSpec

_SEED = TopicPartition(SEED_TOPIC, 0)
#: How long a topic may give no record while there are more of them.
_STALL_SECONDS = 30.0
#: What Connect's ``KafkaStatusBackingStore`` puts before the name of a connector in its keys.
_CONNECTOR, _TASK = b"status-connector-", b"status-task-"


class Mm2WatchedFlow:
    """One flow, seen by a principal that may read the topics of its Connect cluster.

    What was read is remembered: asking again reads only what is new.

    :param flow: which one
    :param target: the cluster that it writes to, whose Connect cluster runs it
    :param declared: that cluster in the topology
    """

    def __init__(self, flow: Flow, *, target: KafkaCluster, declared: ClusterSpec) -> None:
        self.flow = flow
        self._target = target
        self._states_topic, self._positions_topic = declared.connect_states_topic, declared.connect_positions_topic
        name = flow.name.encode()
        self._states = ConnectTopic(
            target, self._states_topic, keep=lambda key: _says_of(key, name), stall_seconds=_STALL_SECONDS
        )
        self._positions = CommittedPositions(target, self._positions_topic, flow, stall_seconds=_STALL_SECONDS)

    def status(self) -> FlowStatus:
        """Return what connector and tasks last said of themselves; ``absent`` if there is no such connector.

        Workers that all died cannot say so: they leave ``running``. Then the positions do not move.

        :raises KafkaDrError: the topic of states cannot be read, and what to do about that
        """
        with self._explained(self._states_topic, "the states of connectors", "connect_status_topic"):
            return flow_status(connector_status(self.flow.name, self._states.newest()))

    def positions(self) -> dict[TopicPartition, int]:
        """Return, by source partition, the next offset that will be copied."""
        return dict(self.where().next_to_read)

    def where(self) -> Positions:
        """Return the positions together with the epoch whose seed they started from.

        :raises KafkaDrError: the topic of positions cannot be read, and what to do about that
        """
        with self._explained(self._positions_topic, "the positions of flows", "connect_offsets_topic"):
            found = dict(self._positions.read())
        seed = found.pop(_SEED, None)
        # The epoch is stored like the offset of a last record, and what was read is the next one.
        return Positions(found, None if seed is None else seed - 1)

    @contextmanager
    def _explained(self, topic: str, holds: str, key: str) -> Iterator[None]:
        """Add to an error what a person has to change."""
        cluster = self._target.name
        declared = f"clusters.{cluster}.{key} of the topology"
        try:
            yield
        except NotAuthorized as error:
            raise NotAuthorized(
                f"{error}. An audit reads {holds} from {topic}: give its principal READ and DESCRIBE on this topic of "
                f"{cluster}, or correct {declared}"
            ) from error
        except NotFound as error:
            raise NotFound(
                f"{error}. An audit reads {holds} from {topic}: write the name that the Connect workers of {cluster} "
                f"use into {declared}"
            ) from error


def watch_flow(flow: Flow, *, target: KafkaCluster, declared: ClusterSpec) -> WatchedFlow:
    """Return a flow as a principal sees it that may change nothing.

    :param target: the cluster that it writes to, reached as that principal
    :param declared: that cluster in the topology
    """
    return Mm2WatchedFlow(flow, target=target, declared=declared)


def connector_status(connector: str, newest: Mapping[bytes, bytes]) -> ConnectorStatus:
    """Return the state of a connector from what Connect's status topic holds of it.

    How many tasks are configured is not in that topic.

    :param connector: its name
    :param newest: the newest value of each key
    """
    name = connector.encode()
    own = newest.get(_CONNECTOR + name)
    if own is None:
        return ConnectorStatus(connector, "absent")
    numbered = sorted(
        ((int(key.rpartition(b"-")[2]), _said(value)) for key, value in newest.items() if _is_task(key, name)),
        key=itemgetter(0),
    )
    tasks = (TaskStatus(n, state_in(said), str(said.get("worker_id", "")), failure_in(said)) for n, said in numbered)
    said = _said(own)
    return ConnectorStatus(connector, state_in(said), tuple(tasks), failure_in(said))


def _says_of(key: bytes, name: bytes) -> bool:
    return key == _CONNECTOR + name or _is_task(key, name)


def _is_task(key: bytes, name: bytes) -> bool:
    """Whether a key is of a task of this connector, and not of one whose name only begins with the same letters."""
    connector, _, number = key.removeprefix(_TASK).rpartition(b"-")
    return key.startswith(_TASK) and connector == name and number.isdigit()


def _said(value: bytes) -> dict[str, Any]:
    """Return what a record says; empty if it cannot be read, so that the state is unknown."""
    try:
        found = json.loads(value)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
