"""Replication by a process that no API reaches: whatever it is, its owner runs it.

Nobody can say how far it has read, or whether it runs. What it has copied is found by content, and its principal's DENY
keeps it from writing. Where the topology names commands of its owner, it is also stopped and started by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.quoting import line
from kafka_dr.replication.existing.owners_command import run_command
from kafka_dr.replication.existing.port import Abilities, Ability, ExistingStatus, PartStatus

_ASKS_NOBODY = "nobody can be asked what it does"


@dataclass(frozen=True, slots=True)
class OwnersCommands:
    """How the owner of a process lets others stop and start it.

    :param stop: a program and its arguments; empty if there is none
    :param start: likewise
    :param seconds: how long each may take
    """

    stop: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    seconds: float = 60


class OwnedProcess:
    """A process of somebody else that copies a group's topics.

    :param name: what it is called, for instance the kind of replicator
    :param commands: of its owner
    """

    def __init__(self, name: str, commands: OwnersCommands) -> None:
        self._name = name
        self._commands = commands

    @property
    def described(self) -> str:
        """Its name, and what stops it."""
        by = f"stopped by {line(self._commands.stop[0])}" if self._commands.stop else "stopped by a DENY alone"
        return f"the {self._name} process ({by})"

    def abilities(self) -> Abilities:
        """Return what its owner's commands can; nothing else is known of it."""
        stop, start = self._commands.stop, self._commands.start
        return Abilities(
            state=Ability(False, _ASKS_NOBODY),
            positions=Ability(False, "nobody can be asked how far it has read: the copy itself is compared"),
            exactly_once=Ability(False, "nothing says that it copies each record once"),
            stop=Ability(bool(stop), _by(stop) if stop else "there is no stop_command: the DENY stops it"),
            resume=Ability(bool(start), _by(start) if start else "there is no start_command"),
            seed=Ability(False, "it takes no positions"),
        )

    def status(self) -> ExistingStatus:
        """Return that nobody knows what it does."""
        return ExistingStatus((PartStatus(self._name, "unknown", f"({_ASKS_NOBODY})"),))

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return nothing: its settings are not known, and the copy itself is compared."""
        return ()

    def stop(self, deadline_seconds: float) -> ExistingStatus:
        """Let its owner's command stop it."""
        if not self._commands.stop:
            raise Refused(f"{self.described} cannot be asked to stop: existing_replication has no stop_command")
        self._run(self._commands.stop, deadline_seconds)
        return self.status()

    def resume(self, was: ExistingStatus, deadline_seconds: float) -> ExistingStatus:
        """Let its owner's command start it."""
        if not self._commands.start:
            raise Refused(f"{self.described} cannot be started: existing_replication has no start_command")
        self._run(self._commands.start, deadline_seconds)
        return self.status()

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return ``None``: nobody can say."""
        return None

    def uncopied(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return none: nobody can say."""
        return ()

    def seed(self, positions: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Refuse: it takes no positions."""
        raise Refused(f"{self.described} takes no positions")

    def remove(self) -> None:
        """Refuse: it belongs to somebody else."""
        raise Refused(f"{self.described} cannot be deleted")

    def transactional_ids(self) -> tuple[str, ...]:
        """Return none: nobody can say; what is open on the target is ended by partition."""
        return ()

    def _run(self, argv: tuple[str, ...], deadline_seconds: float) -> None:
        run_command(argv, deadline_seconds=min(self._commands.seconds, deadline_seconds))


def _by(argv: tuple[str, ...]) -> str:
    return f"its owner's command is run: {line(argv[0])}"
