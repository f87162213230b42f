"""A flow of MirrorMaker 2 on the target's Connect cluster.

Invariants: positions are written only while the connector is stopped; seeding replaces every position, so that none
of an earlier direction remains; the epoch of the seed is stored with the positions and written in the same
transaction, so that a flow that was not seeded for its epoch is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.quoting import line
from kafka_dr.replication import remembered_positions
from kafka_dr.replication.connect import ConnectClient, ConnectorNeverRan, SourceOffset
from kafka_dr.replication.connect_positions import CommittedPositions
from kafka_dr.replication.connector_status import ConnectorStatus
from kafka_dr.replication.copy_settings import CopySettings
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import Ensured, FlowSetup, FlowState, FlowStatus, Positions, PositionsTopic
from kafka_dr.replication.settings import (
    FOLLOWING_TOPICS,
    OFF,
    SYNCS,
    as_config,
    as_pattern,
    flow_settings,
    names_copies_for,
)
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.model import ProtectionGroup

#: The position of this "topic" is the epoch of the seed. It is reserved, so no flow ever reads such a topic.
SEED_TOPIC = "_kafka_dr.seed"
_SEED = TopicPartition(SEED_TOPIC, 0)
#: How long the topic of positions may give no record while there are more of them.
_STALL_SECONDS = 5.0


class Mm2Replicator:
    """One flow, as a ``MirrorSourceConnector``.

    :param flow: which one
    :param group: the protection group, for topics and flow settings
    :param source: the cluster that is read
    :param target: the cluster that is written, whose Connect cluster runs the connector
    :param connect: returns that Connect cluster; it is not needed for what the target knows
    :param copies: returns what the group's topics ask of a connector with this configuration
    :param written: returns the target, reached as the operator
    """

    def __init__(
        self,
        flow: Flow,
        *,
        group: ProtectionGroup,
        source: ClusterSpec,
        target: ClusterSpec,
        connect: Callable[[], ConnectClient],
        copies: Callable[[Mapping[str, str]], CopySettings],
        written: Callable[[], KafkaCluster],
        evidence_root: Any,
        clock: Clock,
    ) -> None:
        self._flow = flow
        self._group = group
        self._source = source
        self._target = target
        self._connect_of = connect
        self._copies = copies
        self._written = written
        self._evidence_root = evidence_root
        self._clock = clock

    @property
    def flow(self) -> Flow:
        """Which flow this is."""
        return self._flow

    @property
    def connect(self) -> ConnectClient:
        """The Connect cluster that runs it."""
        return self._connect_of()

    @property
    def described(self) -> str:
        """The connector, and where it runs."""
        return f"the connector {self._flow.name} on the Connect cluster of {self._flow.target}"

    @property
    def positions_topic(self) -> PositionsTopic:
        """The topic of Connect's offsets."""
        declared = f"clusters.{self._flow.target}.connect_offsets_topic of the topology"
        return PositionsTopic(self._target.connect_positions_topic, declared)

    def setup(self) -> FlowSetup | None:
        """Return how the connector is configured; ``None`` where there is none."""
        found = self.connect.config(self._flow.name)
        if found is None:
            return None
        patterns = found.get("topics", "").split(",")
        return FlowSetup(
            frozenset(name for name in self._group.matched_topics if as_pattern(name) in patterns),
            found.get("exactly.once.support") == "required",
            {key: found.get(key, "not set") for key in SYNCS if found.get(key) != OFF},
            names_otherwise=not names_copies_for(self._group, found),
        )

    def refusals(self) -> tuple[str, ...]:
        """Return what the worker has against the connector's configuration, without creating the connector."""
        wanted = self.config()
        found = self.connect.refused_settings(wanted["connector.class"], wanted)
        return tuple(dict.fromkeys(_refusal(key, said) for key, said in found.items()))

    def differing(self) -> tuple[str, ...]:
        """Return the keys of the configuration that are not as they are wanted."""
        found = self.connect.config(self._flow.name) or {}
        wanted = self.config(found)
        return tuple(sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)))

    def copy_settings(self) -> CopySettings:
        """Return what the topics of the flow ask of its connector now.

        :raises KafkaDrError: the source or Connect cannot be asked
        """
        return self._copies(self.connect.config(self._flow.name) or {})

    def config(self, found: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the connector's configuration as topology, topics and rules want it; secrets are references.

        :param found: the configuration that it has. If its source cannot be asked, what follows the topics stays
        """
        found = found or {}
        kept: tuple[str, ...] = ()
        try:
            copies = self._copies(found)
        except KafkaDrError:
            copies, kept = CopySettings(), FOLLOWING_TOPICS
        settings = flow_settings(self._flow, group=self._group, source=self._source, target=self._target, copies=copies)
        wanted = {"name": self._flow.name, **as_config(settings)}
        return wanted | {key: found[key] for key in kept if key in found}

    def status(self) -> FlowStatus:
        """Return what the connector is doing."""
        return flow_status(self.connect.status(self._flow.name))

    def ensure(self, *, stopped: bool = True) -> Ensured:
        """Create the connector, or give it the wanted configuration; one that exists keeps its state."""
        name = self._flow.name
        found = self.connect.config(name)
        wanted = self.config(found)
        if found is None:
            self.connect.create(name, wanted, stopped=stopped)
            return "created"
        if found == wanted:
            return "unchanged"
        self.connect.update(name, wanted)
        return "updated"

    def stop(self) -> None:
        """Ask for the connector to be stopped."""
        self.connect.stop(self._flow.name)

    def wait_stopped(self, deadline_seconds: float) -> FlowStatus:
        """Wait until the connector is stopped and has no tasks."""
        return flow_status(self.connect.wait_for(self._flow.name, "stopped", deadline_seconds=deadline_seconds))

    def resume(self) -> None:
        """Ask for the connector to run."""
        self.connect.resume(self._flow.name)

    def wait_running(self, deadline_seconds: float) -> FlowStatus:
        """Wait until connector and tasks run; a failed one ends the wait."""
        return flow_status(self.connect.wait_for(self._flow.name, "running", deadline_seconds=deadline_seconds))

    def restart_failed(self) -> None:
        """Restart the connector and those of its tasks that failed."""
        self.connect.restart_failed(self._flow.name)

    def remove(self, *, forget: bool = False) -> None:
        """Delete the connector. Connect keeps its offsets unless they are removed.

        Connect cannot remove those of a flow that never had a task. It copied nothing then, and only its seed stays.
        """
        if forget:
            with suppress(ConnectorNeverRan):
                self.connect.forget_offsets(self._flow.name)
        self.connect.delete(self._flow.name)

    def committed(self, *, remembered: bool = False) -> Mapping[TopicPartition, int]:
        """Return the positions from the topic in which the Connect cluster stores them.

        :raises NotFound: Connect keeps its positions elsewhere
        """
        topic, target = self.positions_topic.name, self._written()
        if remembered:
            return remembered_positions.committed(
                self._flow, target, topic, evidence_root=self._evidence_root, now=self._clock.now()
            )
        return CommittedPositions(target, topic, self._flow, stall_seconds=_STALL_SECONDS).read()

    def positions(self) -> dict[TopicPartition, int]:
        """Return, by source partition, the next offset that will be copied."""
        return dict(self.where().next_to_read)

    def where(self) -> Positions:
        """Return the positions together with the epoch whose seed they started from."""
        stored = self._stored()
        epoch = stored.pop(_SEED, None)
        return Positions({partition: offset + 1 for partition, offset in stored.items()}, epoch)

    def seed(self, positions: Mapping[TopicPartition, int], *, epoch: int) -> None:
        """Give the stopped connector these positions and no others, and read them back.

        :param positions: next to read; 0, like a partition that is not named, means from the start
        :param epoch: of the register, whose seed this is
        :raises Refused: the connector is not stopped
        :raises NeedsPerson: what was read back is something else
        """
        state = self.status().state
        if state != "stopped":
            raise Refused(f"{self._flow} is {state}: positions can only be set while it is stopped, so stop it first")
        wanted = {partition: offset - 1 for partition, offset in positions.items() if offset > 0} | {_SEED: epoch}
        removed = self._stored().keys() - wanted.keys()
        self.connect.set_offsets(
            self._flow.name,
            [self._entry(p, offset) for p, offset in sorted(wanted.items())] + [self._entry(p, None) for p in removed],
        )
        if (found := self._stored()) != wanted:
            raise NeedsPerson(
                f"{self._flow} was seeded and its positions read back differ at {_differences(wanted, found)}: "
                "somebody else sets them; leave the connector stopped and find out who"
            )

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the transactional ids of the connector's tasks, as many as there may be."""
        prefix = f"{self._target.connect_group_id}-{self._flow.name}"
        return tuple(f"{prefix}-{task}" for task in range(self._group.flow.tasks_max))

    def _stored(self) -> dict[TopicPartition, int]:
        """Return what the connector keeps: the offset *of* the last record copied, by source partition."""
        entries = self.connect.offsets(self._flow.name)
        return dict(self._decoded(entry) for entry in entries if entry.offset is not None)

    def _decoded(self, entry: SourceOffset) -> tuple[TopicPartition, int]:
        try:
            source = entry.partition["cluster"]
            partition = TopicPartition(str(entry.partition["topic"]), int(str(entry.partition["partition"])))
            offset = int(str((entry.offset or {})["offset"]))
        except (KeyError, ValueError) as error:
            raise NeedsPerson(
                f"{self._flow.name} keeps a position that is not MirrorMaker's ({dict(entry.partition)}): "
                "find out what else uses this connector's name"
            ) from error
        if source != self._flow.source:
            raise NeedsPerson(
                f"{self._flow.name} keeps a position of cluster {source!r}, expected {self._flow.source!r}: "
                "find out what else uses this connector's name"
            )
        return partition, offset

    def _entry(self, partition: TopicPartition, offset: int | None) -> SourceOffset:
        key = {"cluster": self._flow.source, "partition": partition.partition, "topic": partition.topic}
        return SourceOffset(key, None if offset is None else {"offset": offset})


def flow_status(found: ConnectorStatus) -> FlowStatus:
    """Return what a flow is doing, from the state of its connector."""
    state: FlowState = "unassigned" if found.settled == "restarting" else found.settled
    return FlowStatus(state, len(found.tasks), found.failure)


def _refusal(key: str, said: str) -> str:
    if key == "exactly.once.support":
        return "exactly-once source support is off: set exactly.once.source.support=enabled in every worker"
    if ".override." in key:
        return f"it does not let a flow set {key}: set connector.client.config.override.policy=All in every worker"
    return f"{key} is refused ({line(said)}): correct the worker"


def _differences(wanted: Mapping[TopicPartition, int], found: Mapping[TopicPartition, int]) -> str:
    differing = sorted(p for p in wanted.keys() | found.keys() if wanted.get(p) != found.get(p))
    shown = [f"{p} ({found.get(p)} instead of {wanted.get(p)})" for p in differing[:3]]
    return ", ".join(shown) + (f" and {len(differing) - 3} more" if len(differing) > 3 else "")
