"""Connectors of MirrorMaker 2 on a Connect cluster, set up by somebody else.

Connect says what they do and how far they have committed, stops and resumes them, and takes positions of stopped ones.
Only ``MirrorSourceConnector`` copies records. The others of MirrorMaker (checkpoints, heartbeats) are stopped with it:
one that copies checkpoints may set offsets of consumer groups on the target.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_dr.causes import cause
from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.naming import Naming
from kafka_dr.replication.connect import ConnectClient, SourceOffset
from kafka_dr.replication.connector_status import ConnectorState
from kafka_dr.replication.existing.names_of_copies import wrong_policy
from kafka_dr.replication.existing.port import Abilities, Ability, ExistingStatus, PartStatus
from kafka_dr.replication.settings import CONNECTOR_CLASS

#: What MirrorMaker 2 consists of. Only the first one copies records.
_CLASSES = (
    CONNECTOR_CLASS,
    "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
)
#: MirrorMaker's own ``topics.exclude`` (``DefaultTopicFilter``).
_EXCLUDED = r"mm2.*\.internal,.*\.replica,__.*"
_RAN = ("running", "failed", "unassigned", "restarting")


class MirrorMakerOnConnect:
    """The connectors that copy a group's topics.

    :param connect: the Connect cluster that runs them
    :param names: of the connectors
    :param owns: whether a topic belongs to the protection group
    :param naming: of the copies; ``None``: they have the names of their originals
    :param worker_group: the ``group.id`` of the Connect workers; ``None`` if it is not known
    :param clock: for the deadlines that several connectors share
    """

    def __init__(
        self,
        connect: ConnectClient,
        names: Sequence[str],
        *,
        owns: Callable[[str], bool],
        naming: Naming | None = None,
        worker_group: str | None,
        clock: Clock,
    ) -> None:
        self._connect = connect
        self._names = tuple(names)
        self._owns = owns
        self._naming = naming
        self._worker_group = worker_group
        self._clock = clock

    @property
    def described(self) -> str:
        """The connectors and the address of their Connect cluster."""
        word = "connector" if len(self._names) == 1 else "connectors"
        return f"the {word} {', '.join(self._names)} on Connect at {self._connect.endpoint.base_url}"

    def abilities(self) -> Abilities:
        """Return what Connect can say and do; exactly once only if each connector that copies records requires it."""
        copying = self._copying()
        exactly = bool(copying) and all(c.get("exactly.once.support") == "required" for c in copying.values())
        said = "exactly.once.support is required" if exactly else "exactly.once.support is not required of all of them"
        asked = "Connect's REST API is asked"
        return Abilities(
            state=Ability(True, "Connect says what they do"),
            positions=Ability(bool(copying), "Connect says how far they have committed"),
            exactly_once=Ability(exactly, said),
            stop=Ability(True, asked),
            resume=Ability(True, asked),
            seed=Ability(True, "Connect takes positions of stopped connectors"),
        )

    def status(self) -> ExistingStatus:
        """Return the state of each connector, with its tasks."""
        found = [self._connect.status(name) for name in self._names]
        return ExistingStatus(tuple(PartStatus(each.name, each.settled, each.failure) for each in found))

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return what of the connectors' settings speaks against it: class, names of copies, topics of others."""
        found: list[str] = []
        copying: dict[str, dict[str, str]] = {}
        for name in self._names:
            config = self._connect.config(name)
            if config is None:
                found.append(f"there is no connector {name}: correct connectors in existing_replication")
            elif (kind := config.get("connector.class", "")) not in _CLASSES:
                found.append(f"{name} is a {kind}, expected one of MirrorMaker 2's connectors")
            elif kind == CONNECTOR_CLASS:
                copying[name] = config
        if not copying and not found:
            found.append(f"none of {', '.join(self._names)} copies records: name the one that does")
        known = tuple(topics)
        for name, config in copying.items():
            copied = {p.topic for p in self._stored(name)}
            found += unfit_settings(name, config, known, owns=self._owns, copied=copied, naming=self._naming)
        return tuple(found)

    def stop(self, deadline_seconds: float) -> ExistingStatus:
        """Stop every connector that exists, and wait until none has a task."""
        wanted = [part.name for part in self.status().parts if part.state not in ("absent", "stopped")]
        for name in wanted:
            self._connect.stop(name)
        return self._settled(dict.fromkeys(wanted, "stopped"), deadline_seconds)

    def resume(self, was: ExistingStatus, deadline_seconds: float) -> ExistingStatus:
        """Let those run that ran, pause those that were paused, and leave the stopped and the deleted as they are."""
        deadline = self._clock.monotonic() + deadline_seconds
        now = self.status()
        there = [name for name in self._names if now.state_of(name) != "absent"]
        # Connect lets a task that failed stay so when its connector is resumed; one that was stopped has no task.
        broken = [name for name in there if now.state_of(name) == "failed" and was.state_of(name) != "failed"]
        for name in broken:
            self._connect.stop(name)
        self._settled(dict.fromkeys(broken, "stopped"), deadline_seconds)
        wanted: dict[str, ConnectorState] = {}
        for name in there:
            before = was.state_of(name)
            if before in _RAN:
                self._connect.resume(name)
                wanted[name] = "running"
            elif before == "paused":
                self._connect.pause(name)
                wanted[name] = "paused"
        if any(was.state_of(name) == "failed" for name in wanted):
            # What had failed before fails again; that is what was there.
            return self.status()
        return self._settled(wanted, deadline - self._clock.monotonic())

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return the positions that the connectors have committed, of the group's topics alone."""
        found: dict[TopicPartition, int] = {}
        for name in self._copying():
            for partition, offset in self._stored(name).items():
                if self._owns(partition.topic):
                    found[partition] = max(offset, found.get(partition, 0))
        return found

    def uncopied(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions of topics that no connector's settings match."""
        copying = self._copying().values()
        return left_out(partitions, lambda topic: any(copies_topic(config, topic) for config in copying))

    def seed(self, positions: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Give the stopped connectors these positions, each the partitions that it copies, and read them back.

        :raises Refused: one is not stopped
        :raises NeedsPerson: what was read back is something else
        """
        copying = self._copying()
        running = [name for name in copying if self._connect.status(name).settled != "stopped"]
        if running:
            raise Refused(f"{running[0]} is not stopped, so it takes no positions: stop it first")
        for name, config in copying.items():
            self._seed(name, config, positions)
        return self.uncopied(positions)

    def _seed(self, name: str, config: Mapping[str, str], positions: Mapping[TopicPartition, int]) -> None:
        stored = self._stored(name)
        unmatched = frozenset(left_out(positions, lambda topic: copies_topic(config, topic)))
        # It may have a position of what its settings do not match now: wherever it begins, it begins after that.
        wanted = {p: offset for p, offset in positions.items() if p in stored or p not in unmatched}
        alias = config.get("source.cluster.alias", "")
        self._connect.set_offsets(name, [_entry(alias, p, offset) for p, offset in sorted(wanted.items())])
        found = self._stored(name)
        if wrong := [p for p, offset in wanted.items() if found.get(p, 0) != offset]:
            raise NeedsPerson(
                f"{name} was given positions, and {wrong[0]} was read back as {found.get(wrong[0], 0)} "
                f"instead of {wanted[wrong[0]]}: somebody else sets them. Leave it stopped and find out who"
            )

    def remove(self) -> None:
        """Delete every connector; its offsets stay with Connect."""
        if not (found := self.status()).at_rest:
            raise Refused(f"{found}: expected stopped, so nothing was deleted")
        for name in self._names:
            self._connect.delete(name)

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the ids of all tasks of exactly-once connectors, if the ``group.id`` of the workers is known."""
        if self._worker_group is None:
            return ()
        return tuple(
            f"{self._worker_group}-{name}-{task}"
            for name, config in self._copying().items()
            if config.get("exactly.once.support") == "required"
            for task in range(int(config.get("tasks.max", "1")))
        )

    def _copying(self) -> dict[str, dict[str, str]]:
        """Return the settings of the connectors that copy records."""
        found = ((name, self._connect.config(name)) for name in self._names)
        return {n: config for n, config in found if config and config.get("connector.class") == CONNECTOR_CLASS}

    def _stored(self, name: str) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for entry in self._connect.offsets(name):
            try:
                partition = TopicPartition(str(entry.partition["topic"]), int(str(entry.partition["partition"])))
                if entry.offset is not None:
                    found[partition] = int(str(entry.offset["offset"])) + 1
            except (KeyError, ValueError) as error:
                raise NeedsPerson(
                    f"{name} keeps a position that is not MirrorMaker's ({dict(entry.partition)}): find out "
                    "what it is, or declare it as external"
                ) from error
        return found

    def _settled(self, wanted: Mapping[str, ConnectorState], deadline_seconds: float) -> ExistingStatus:
        deadline = self._clock.monotonic() + deadline_seconds
        for name, state in wanted.items():
            left = max(0.0, deadline - self._clock.monotonic())
            found = self._connect.wait_for(name, state, deadline_seconds=left)
            if found.settled != state:
                raise TryAgain(
                    f"{name} is {found.settled}, expected {state}: {found.failure}. Look at its Connect worker's log"
                )
        return self.status()


def unfit_settings(
    name: str,
    config: Mapping[str, str],
    topics: Sequence[str],
    *,
    owns: Callable[[str], bool],
    copied: Iterable[str] = (),
    naming: Naming | None = None,
) -> list[str]:
    """Return what of a connector's settings speaks against taking it over, a sentence each. Pure.

    :param topics: all those of the source
    :param owns: whether a topic belongs to the protection group
    :param copied: topics in which it has a position, whatever its settings say now
    :param naming: of the copies; ``None``: they have the names of their originals
    """
    found = wrong_policy(name, config, naming)
    if naming is not None:
        # Whatever its patterns match, it never copies what came from the target.
        topics = [topic for topic in topics if naming.copy_of(topic) is not None]
    try:
        matched = {topic for topic in topics if copies_topic(config, topic)}
    except re.error as error:
        found.append(f"topics of {name} cannot be read as patterns here ({cause(error)})")
        matched = set()
    return [*found, *not_alone(name, (matched | set(copied)) & set(topics), owns=owns)]


def not_alone(name: str, topics: Iterable[str], *, owns: Callable[[str], bool]) -> list[str]:
    """Return that a replicator also copies topics of others, if it does. Pure.

    :param topics: that it copies
    """
    others = sorted(topic for topic in topics if not owns(topic))
    if not others:
        return []
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    return [
        f"{name} also copies {shown}, which are not the group's, and it would be stopped: let another "
        "connector copy them, or add them to the group"
    ]


def left_out(partitions: Iterable[TopicPartition], copies: Callable[[str], bool]) -> tuple[TopicPartition, ...]:
    """Return the partitions of topics that are not copied, in order. Pure.

    :param copies: whether a topic is copied; if its patterns cannot be read here, nobody can say, and it counts as
        copied: a position does no harm
    """
    found = tuple(partitions)
    try:
        copied = {topic for topic in {p.topic for p in found} if copies(topic)}
    except re.error:
        return ()
    return tuple(sorted(p for p in found if p.topic not in copied))


def copies_topic(config: Mapping[str, str], topic: str) -> bool:
    """Return whether a connector copies a topic of its source, by its own settings."""
    excluded = config.get("topics.exclude", _EXCLUDED)
    return _matches(config.get("topics", ".*"), topic) and not _matches(excluded, topic)


def _matches(patterns: str, topic: str) -> bool:
    """Return whether one of MirrorMaker's patterns, which match whole names, matches a topic."""
    return any(re.fullmatch(pattern.strip(), topic) for pattern in patterns.split(",") if pattern.strip())


def _entry(alias: str, partition: TopicPartition, offset: int) -> SourceOffset:
    key = {"cluster": alias, "partition": partition.partition, "topic": partition.topic}
    return SourceOffset(key, {"offset": offset - 1} if offset > 0 else None)
