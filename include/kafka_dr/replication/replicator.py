"""What the rest of the project needs of replication, whatever does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.connector_status import ConnectorStatus
from kafka_dr.replication.flow import Flow

FlowState = Literal["absent", "stopped", "running", "failed", "paused", "unassigned", "unknown"]
Ensured = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """What a flow's connector is doing, which does not say that anything moves: see ``flow_moves``.

    :param state: of connector and tasks together: ``stopped`` only without tasks, ``running`` only when all run
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


def not_running(flow: Flow, status: FlowStatus) -> str:
    """Say what is seen of a flow that has to run and does not, and what starts it."""
    if status.state == "absent":
        return (
            f"{flow.connector} does not exist, so nothing of {flow.group} is copied from {flow.source} to "
            f"{flow.target}. That is so after an adoption until dr_flows has run: trigger dr_flows, or wait for its "
            "next run, within 5 minutes if it is not paused. If the flow ran before, find out who deleted the connector"
        )
    return f"{flow.connector} has to run, because {flow.source} is active: see dr_flows. It is {status}"


def flow_status(found: ConnectorStatus) -> FlowStatus:
    """Return what a flow is doing, from the state of its connector."""
    state: FlowState = "unassigned" if found.settled == "restarting" else found.settled
    return FlowStatus(state, len(found.tasks), found.failure)


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of a flow.

    :param next_to_read: by source partition; a partition from which nothing was copied yet is not in it
    :param seed_epoch: the epoch whose seed these positions started from; ``None`` for a flow never seeded
    """

    next_to_read: Mapping[TopicPartition, int]
    seed_epoch: int | None


class Replicator(Protocol):
    """One flow that can be set up, stopped, placed and started."""

    @property
    def flow(self) -> Flow:
        """Which flow this is."""
        ...

    def status(self) -> FlowStatus:
        """Return what the flow is doing."""
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

    def positions(self) -> dict[TopicPartition, int]:
        """Return, by source partition, the next offset that will be copied."""
        ...

    def where(self) -> Positions:
        """Return the positions together with the epoch whose seed they started from."""
        ...

    def seed(self, positions: Mapping[TopicPartition, int], *, epoch: int) -> None:
        """Give a stopped flow these positions and no others, under this epoch."""
        ...

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the transactional ids that the flow writes with."""
        ...
