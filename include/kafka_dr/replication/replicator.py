"""What the rest of the project needs of replication, whatever does it. Callers are typed against this alone.

A flow copies committed records with their partition, key, value, headers and timestamp, in order, and never twice: its
positions and what is on the target agree, whenever it stops. It may also write offset syncs on its target, in the form
that ``offsets.syncs`` reads; without them offsets are translated all the same, and more records are compared for it.

Each call that waits has a deadline. A method that has no *raises* of its own raises :class:`TryAgain` where whoever
runs the flow does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.kubernetes import KubernetesApi
from kafka_dr.replication.copy_settings import CopySettings
from kafka_dr.replication.existing.port import ExistingReplication
from kafka_dr.replication.flow import Flow
from kafka_dr.topology.model import ProtectionGroup, Topology

FlowState = Literal["absent", "stopped", "running", "failed", "paused", "unassigned", "unknown"]
Ensured = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """What a flow does, which does not say that anything moves: see ``flow_moves``.

    :param state: of all its parts together: ``stopped`` only without tasks, ``running`` only when all run
    :param tasks: how many tasks there are
    :param detail: what a failed one failed with, the innermost cause first; empty otherwise
    """

    state: FlowState
    tasks: int
    detail: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.state, self.detail)))

    @property
    def at_rest(self) -> bool:
        """Whether it is seen to be stopped, or not to be there: then it copies nothing until somebody starts it."""
        return self.state in ("absent", "stopped")


@dataclass(frozen=True, slots=True)
class FlowSetup:
    """How a flow is set up now, whoever has set it up so.

    :param matched: which topics of the group's patterns it copies
    :param exactly_once: whether it never copies a record twice
    :param also_changes: by setting, with its value: what would let it change settings or ACLs of the target as well
    :param names_otherwise: whether it gives its copies other names than the topology says
    """

    matched: frozenset[str] = frozenset()
    exactly_once: bool = True
    also_changes: Mapping[str, str] = field(default_factory=dict)
    names_otherwise: bool = False


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of a flow.

    :param next_to_read: by source partition; a partition from which nothing was copied yet is not in it
    :param seed_epoch: the epoch whose seed these positions started from; ``None`` for a flow never seeded
    """

    next_to_read: Mapping[TopicPartition, int]
    seed_epoch: int | None


@dataclass(frozen=True, slots=True)
class PositionsTopic:
    """A topic of the target in which positions of flows are kept; whoever asks for positions reads all of it.

    :param declared_at: where the topology names it
    """

    name: str
    declared_at: str


class WatchedFlow(Protocol):
    """One flow, seen by somebody who need not be able to change it."""

    @property
    def flow(self) -> Flow:
        """Which flow this is."""
        ...

    def status(self) -> FlowStatus:
        """Return what the flow is doing; ``absent`` if there is none."""
        ...

    def positions(self) -> dict[TopicPartition, int]:
        """Return, by source partition, the next offset that will be copied.

        :raises FlowNotFound: there is no such flow
        """
        ...

    def where(self) -> Positions:
        """Return the positions together with the epoch whose seed they started from.

        :raises FlowNotFound: there is no such flow
        """
        ...


class Replicator(WatchedFlow, Protocol):
    """One flow that can be set up, stopped, placed, started and removed."""

    @property
    def described(self) -> str:
        """What a person has to look at if it does not do what it should, as it is named in sentences."""
        ...

    @property
    def positions_topic(self) -> PositionsTopic | None:
        """The topic of the target that keeps the positions; ``None`` if no topic does."""
        ...

    def setup(self) -> FlowSetup | None:
        """Return how the flow is set up now; ``None`` if it does not exist."""
        ...

    def refusals(self) -> tuple[str, ...]:
        """Return why it would not run with the wanted settings, and what to do, as clauses. Nothing is changed."""
        ...

    def differing(self) -> tuple[str, ...]:
        """Return the names of the settings that are not as they are wanted; all, if it does not exist."""
        ...

    def ensure(self, *, stopped: bool = True) -> Ensured:
        """Make the flow exist with the wanted settings. A new one starts ``stopped``, or runs at once."""
        ...

    def stop(self) -> None:
        """Ask the flow to stop, and return without waiting."""
        ...

    def wait_stopped(self, deadline_seconds: float) -> FlowStatus:
        """Wait until nothing of it runs.

        :raises TryAgain: it had not stopped when the deadline passed
        """
        ...

    def resume(self) -> None:
        """Ask the flow to run, and return without waiting."""
        ...

    def wait_running(self, deadline_seconds: float) -> FlowStatus:
        """Wait until all of it runs.

        :raises TryAgain: it did not run when the deadline passed
        """
        ...

    def restart_failed(self) -> None:
        """Let what failed of the flow run again, and leave alone what runs."""
        ...

    def remove(self, *, forget: bool = False) -> None:
        """Remove the stopped flow; one that is not there is no error.

        :param forget: its positions, too: a flow of that name begins at the start again. Otherwise they stay
        """
        ...

    def committed(self, *, remembered: bool = False) -> Mapping[TopicPartition, int]:
        """Return the positions as the target keeps them: next to read on the source, by partition.

        Nothing but the target is asked: the source may be dead, and who runs the flow may not answer.

        :param remembered: what was read before need not be read again: for those who ask every minute
        :raises NotFound: the target keeps them elsewhere than declared
        """
        ...

    def seed(self, positions: Mapping[TopicPartition, int], *, epoch: int) -> None:
        """Give a stopped flow these positions and no others, under this epoch, and read them back.

        :param positions: next to read; 0, like a partition that is not named, means from the start
        :param epoch: of the register, whose seed this is
        :raises Refused: the flow is not stopped
        :raises NeedsPerson: what was read back is something else
        """
        ...

    def copy_settings(self) -> CopySettings:
        """Return what the topics of the flow ask of it now: which record is too large for it.

        :raises KafkaDrError: the source cannot be asked
        """
        ...

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the transactional ids that the flow writes with: who takes them over ends what it has begun."""
        ...


#: A client of a service that a connection id names.
Service = TypeVar("Service", bound="Closed")


class Closed(Protocol):
    """What is closed when nobody needs it any more."""

    def close(self) -> None:
        """Close the connections."""
        ...


class FlowClients(Protocol):
    """What a replication reaches clusters and services by, and what is declared of them."""

    @property
    def topology(self) -> Topology:
        """What is declared."""
        ...

    @property
    def clock(self) -> Clock:
        """For deadlines."""
        ...

    @property
    def evidence_root(self) -> Any:
        """A folder for what is remembered between two looks."""
        ...

    def cluster(self, name: str, role: Literal["operator", "audit"]) -> KafkaCluster:
        """Return a cluster as the principal of a role sees it."""
        ...

    def service(self, connection: str, make: Callable[[HttpEndpoint], Service]) -> Service:
        """Return the client of a service, which is made once and closed with all the others."""
        ...

    def endpoint(self, connection: str) -> HttpEndpoint:
        """Return where a service is, and the login for it."""
        ...

    def kubernetes_at(self, connection: str) -> KubernetesApi:
        """Return the API of Kubernetes that a connection id names."""
        ...


class FlowsByHand(Protocol):
    """Commands of a shell for the flows to one cluster, for a person who has nothing of this project but a paper."""

    def stop(self, flow: Flow) -> str:
        """Return the command that stops a flow. It may fail: nothing that follows depends on it."""
        ...

    def resume(self, flow: Flow) -> str:
        """Return the command that starts a flow again. It may fail: nothing that follows depends on it."""
        ...

    def positions(self, flow: Flow) -> str:
        """Return the command that writes the positions of a flow, as lines ``topic:partition:next to copy``."""
        ...

    def files(self, *, hidden: bool) -> dict[str, str]:
        """Return the files that the commands read, by name.

        :param hidden: with words in place of secrets, for paper
        """
        ...


class Replication(Protocol):
    """All flows of an installation."""

    def replicator(self, flow: Flow, group: ProtectionGroup) -> Replicator:
        """Return what replicates a flow.

        :param group: the protection group with the topics that are to be copied
        """
        ...

    def flows_into(self, cluster: str) -> tuple[str, ...]:
        """Return the names of all flows that write to a cluster, of any group, and whatever they do now."""
        ...

    def by_hand(self, cluster: str) -> FlowsByHand:
        """Return the commands for the flows that write to a cluster."""
        ...

    def existing(self, flow: Flow) -> ExistingReplication:
        """Return what somebody else has set up to copy a group's topics.

        :param flow: from the cluster that applications write to, to the one that holds the copy
        :raises Refused: the topology declares none, or one of a kind that cannot be taken over yet
        """
        ...


def not_running(replicator: Replicator, status: FlowStatus) -> str:
    """Say what is seen of a flow that has to run and does not, and what starts it."""
    flow = replicator.flow
    if status.state == "absent":
        return (
            f"{flow.name} does not exist, so nothing of {flow.group} is copied from {flow.source} to {flow.target}. "
            "dr_flows makes it: trigger dr_flows, or wait for its next run, within 5 minutes if it is not paused. If "
            f"it ran before, and {flow.group} has not moved since then, find out who deleted {replicator.described}"
        )
    return f"{flow.name} has to run, because {flow.source} is active: see dr_flows. It is {status}"
