"""What a take over needs of the replication that it stops and replaces, whatever does it.

Replicators differ in what they can say and in what can be asked of them. Each adapter answers that with ``abilities``,
in words that people read before they approve. A take over trusts none of them with records: how far the copy reaches is
found out by comparing content, and that the flow is stopped is proven by the fence of its principal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kafka_dr.causes import cause
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import NotDecoded, StoredDocument
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.replication.connector_status import ConnectorState
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.model import ProtectionGroup

_AT_REST = ("absent", "stopped")


@dataclass(frozen=True, slots=True)
class Ability:
    """One thing that a replicator can or cannot do.

    :param reason: why, as a sentence that people read before they approve
    """

    can: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Abilities(StoredDocument):
    """What an existing replicator can say, and what can be asked of it.

    :param state: say what its parts do: whether they run or are stopped
    :param positions: say how far it has read; at-least-once flows may have copied more than that
    :param exactly_once: be known to copy each record once; without it records may have been copied twice
    :param stop: be asked to stop, so that more than the DENY of its principal keeps it from writing
    :param resume: be asked to run again, when a take over is given back
    :param seed: be given positions, when it is handed back after this project's flow has copied records
    """

    state: Ability
    positions: Ability
    exactly_once: Ability
    stop: Ability
    resume: Ability
    seed: Ability


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part of a replicator that runs and stops by itself, such as a connector.

    :param state: ``unknown`` if nobody can say
    :param detail: what a failed one failed with, or why the state is unknown; empty otherwise
    """

    name: str
    state: ConnectorState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ExistingStatus(StoredDocument):
    """What the parts of a replicator do. It does not say that anything is copied."""

    parts: tuple[PartStatus, ...]

    @property
    def at_rest(self) -> bool:
        """Whether each part is seen to be stopped, or not to be there."""
        return all(part.state in _AT_REST for part in self.parts)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The parts of which nobody can say at the moment what they do."""
        return tuple(part.name for part in self.parts if part.state == "unknown")

    @property
    def is_gone(self) -> bool:
        """Whether each part is seen not to be there: somebody has deleted it."""
        return bool(self.parts) and all(part.state == "absent" for part in self.parts)

    def state_of(self, name: str) -> ConnectorState:
        """Return the state of a part; ``unknown`` if nothing is known of it."""
        return next((part.state for part in self.parts if part.name == name), "unknown")

    def __str__(self) -> str:
        return ", ".join(f"{part.name} is {': '.join(filter(None, (part.state, part.detail)))}" for part in self.parts)


class ExistingReplication(Protocol):
    """Replication of a protection group's topics that somebody else has set up.

    Positions are next to read on the source, by source partition. Each method that waits has a deadline.
    """

    @property
    def described(self) -> str:
        """What it is, as it is named in sentences: ``the connectors a, b of connect_west``."""
        ...

    def abilities(self) -> Abilities:
        """Return what it can say, and what can be asked of it, as it is set up now.

        :raises TryAgain: who knows that did not answer
        """
        ...

    def status(self) -> ExistingStatus:
        """Return what its parts do now.

        :raises TryAgain: who knows that did not answer
        """
        ...

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return why it cannot be taken over, each as a sentence; none if nothing is seen that speaks against it.

        That nobody can say something which its adapter relies on speaks against it, too.

        :param topics: all those of the source: it must copy none of them that is not the group's
        """
        ...

    def stop(self, deadline_seconds: float) -> ExistingStatus:
        """Stop all of it and wait for that; one that is stopped already stays so.

        :raises Refused: it cannot be asked to stop: see ``abilities``
        :raises TryAgain: it had not stopped when the deadline passed
        """
        ...

    def resume(self, was: ExistingStatus, deadline_seconds: float) -> ExistingStatus:
        """Let each part do what it did before it was stopped, and wait for that; one that is gone stays so.

        One that ran and has failed since, because it was denied, is stopped first: as it is, it would never run.

        :param was: what :meth:`status` said before :meth:`stop`
        :raises Refused: it cannot be asked to run again: see ``abilities``
        :raises TryAgain: it did not run when the deadline passed
        """
        ...

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return how far it has read; ``None`` if nobody can say.

        Asking may change something where the replicator is declared, so only a run that holds the group asks.

        :raises KafkaDrError: who knows that did not answer
        """
        ...

    def uncopied(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return those of the partitions that it does not copy, as it is set up now; none, if nobody can say."""
        ...

    def seed(self, positions: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Give the stopped replicator these positions, and read them back; partitions that are not named keep theirs.

        :returns: those of the partitions that it does not copy
        :raises Refused: it takes no positions, or is not stopped
        """
        ...

    def remove(self) -> None:
        """Delete the stopped replicator, so that nobody starts it again; nothing, if it is gone.

        :raises Refused: it cannot be deleted, or is not stopped
        """
        ...

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the transactional ids that it writes with; none if it writes without, or if nobody can say."""
        ...


def declared(group: ProtectionGroup) -> ExistingReplicationSpec:
    """Return what the topology says of a group's existing replication.

    :raises Refused: it says nothing
    """
    if group.existing_replication is None:
        raise Refused(f"the topology declares no existing_replication of {group.name}: there is nothing to take over")
    return group.existing_replication


def stored_status(stored: object) -> ExistingStatus:
    """Read a status from a journal.

    :raises NeedsPerson: it cannot be read
    """
    try:
        return ExistingStatus.from_json(stored)
    except NotDecoded as error:
        raise NeedsPerson(
            f"the journaled status of the existing replication cannot be read ({cause(error)})"
        ) from error
