"""Confluent Replicator, which runs as one connector on a Connect cluster.

It copies at least once, and keeps its own offsets; it also commits them as a consumer group on the source, unless
``offset.topic.commit`` is false. Its offset translator sets offsets of consumer groups on the target; it stops with it.
Source: Confluent's reference of its configuration. Tested against connectors configured so, not on a Replicator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from kafka_dr.causes import cause
from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.naming import Naming
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.connector_status import ConnectorState
from kafka_dr.replication.existing.mirrormaker_connect import left_out, not_alone
from kafka_dr.replication.existing.names_of_copies import rename_format
from kafka_dr.replication.existing.port import Abilities, Ability, ExistingStatus, PartStatus

CONNECTOR_CLASS = "io.confluent.connect.replicator.ReplicatorSourceConnector"
_SAME_NAME = "${topic}"
#: It never copies them, whatever is matched.
_NEVER = ("__consumer_offsets", "__transaction_state", "__consumer_timestamps")
_RAN = ("running", "failed", "unassigned", "restarting")

#: Returns what a consumer group of the source has committed, next to read.
Committed = Callable[[str], Mapping[TopicPartition, int]]


class ConfluentReplicator:
    """The connector that copies a group's topics.

    :param connect: the Connect cluster that runs it
    :param name: of the connector
    :param owns: whether a topic belongs to the protection group
    :param naming: of the copies; ``None``: they have the names of their originals
    :param committed: asks the source
    :param clock: for deadlines
    """

    def __init__(
        self,
        connect: ConnectClient,
        name: str,
        *,
        owns: Callable[[str], bool],
        naming: Naming | None = None,
        committed: Committed,
        clock: Clock,
    ) -> None:
        self._connect = connect
        self._name = name
        self._owns = owns
        self._naming = naming
        self._committed = committed
        self._clock = clock

    @property
    def described(self) -> str:
        """The connector and the address of its Connect cluster."""
        return f"Confluent Replicator {self._name} on Connect at {self._connect.endpoint.base_url}"

    def abilities(self) -> Abilities:
        """Return what Connect can be asked for, and what Replicator commits."""
        config = self._connect.config(self._name) or {}
        group = group_of(self._name, config)
        commits = _is_true(config, "offset.topic.commit", default=True)
        said = f"it commits them on the source as {group}" if commits else "offset.topic.commit is false"
        asked = "Connect's REST API is asked; its offset translator, which sets groups' offsets, stops with it"
        return Abilities(
            state=Ability(True, "Connect says what it does"),
            positions=Ability(bool(config) and commits, said),
            exactly_once=Ability(False, "Replicator copies at least once"),
            stop=Ability(True, asked),
            resume=Ability(True, asked),
            seed=Ability(False, "the offsets that it begins at are its own, and no document says how to set them"),
        )

    def status(self) -> ExistingStatus:
        """Return the state of the connector, with its tasks."""
        found = self._connect.status(self._name)
        return ExistingStatus((PartStatus(found.name, found.settled, found.failure),))

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return what of its settings speaks against it: its class, other names or contents of copies, other topics."""
        config = self._connect.config(self._name)
        if config is None:
            return (f"there is no connector {self._name}: correct connectors in existing_replication",)
        if (kind := config.get("connector.class", "")) != CONNECTOR_CLASS:
            return (f"{self._name} is a {kind}, expected {CONNECTOR_CLASS}",)
        return tuple(unfit_settings(self._name, config, tuple(topics), owns=self._owns, naming=self._naming))

    def stop(self, deadline_seconds: float) -> ExistingStatus:
        """Stop the connector, and wait until it has no task."""
        if self.status().state_of(self._name) not in ("absent", "stopped"):
            self._connect.stop(self._name)
        return self._settled("stopped", deadline_seconds)

    def resume(self, was: ExistingStatus, deadline_seconds: float) -> ExistingStatus:
        """Let it run if it ran, pause it if it was paused, and leave it stopped if it was."""
        before, now = was.state_of(self._name), self.status()
        if now.is_gone or before not in (*_RAN, "paused"):
            return now
        if before == "paused":
            self._connect.pause(self._name)
            return self._settled("paused", deadline_seconds)
        if now.state_of(self._name) == "failed" and before != "failed":
            # Connect lets a task that failed stay so when its connector is resumed.
            self.stop(deadline_seconds)
        self._connect.resume(self._name)
        # What had failed before fails again; that is what was there.
        return self.status() if before == "failed" else self._settled("running", deadline_seconds)

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return what it has committed on the source, of the group's topics alone."""
        config = self._connect.config(self._name)
        if config is None or not _is_true(config, "offset.topic.commit", default=True):
            return None
        found = self._committed(group_of(self._name, config))
        return {partition: offset for partition, offset in found.items() if self._owns(partition.topic)}

    def uncopied(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions of topics that its settings do not name."""
        config = self._connect.config(self._name) or {}
        return left_out(partitions, lambda topic: copies_topic(config, topic))

    def seed(self, positions: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Refuse.

        :raises Refused: it takes no positions
        """
        raise Refused(f"{self._name} takes no positions: {self.abilities().seed.reason}")

    def remove(self) -> None:
        """Refuse: it is denied, so nobody has to delete it."""
        raise Refused(f"{self.described} cannot be deleted: its principal is denied instead")

    def transactional_ids(self) -> tuple[str, ...]:
        """Return none: it writes without transactions."""
        return ()

    def _settled(self, wanted: ConnectorState, deadline_seconds: float) -> ExistingStatus:
        if self.status().state_of(self._name) == "absent":
            return self.status()
        found = self._connect.wait_for(self._name, wanted, deadline_seconds=deadline_seconds)
        if found.settled != wanted:
            raise TryAgain(
                f"{self._name} is {found.settled}, expected {wanted}: {found.failure}. Look at its Connect worker"
            )
        return self.status()


def group_of(name: str, config: Mapping[str, str]) -> str:
    """Return the consumer group that a Replicator commits as: its own setting, or else the connector's name."""
    return config.get("src.consumer.group.id") or name


def copies_topic(config: Mapping[str, str], topic: str) -> bool:
    """Return whether a Replicator copies a topic: listed or matched as a whole, and not excluded. Pure."""
    if topic in _NEVER or topic in _listed(config, "topic.blacklist"):
        return False
    pattern = config.get("topic.regex") or ""
    return topic in _listed(config, "topic.whitelist") or bool(pattern and re.fullmatch(pattern, topic))


def unfit_settings(
    name: str,
    config: Mapping[str, str],
    topics: Iterable[str],
    *,
    owns: Callable[[str], bool],
    naming: Naming | None = None,
) -> list[str]:
    """Return what of a Replicator's settings speaks against taking it over, a sentence each. Pure.

    :param topics: all those of the source
    :param naming: of the copies; ``None``: they have the names of their originals
    """
    found = []
    wanted = rename_format(naming)
    if (renamed := config.get("topic.rename.format", _SAME_NAME)) != wanted:
        found.append(
            f"{name} names copies by {renamed}, and the topology by {wanted}: correct flow.naming and flow.separator, "
            "or observe it as one of observed_flows"
        )
    if _is_true(config, "provenance.header.enable", default=False):
        found.append(f"{name} adds a header to each copy (provenance.header.enable), so no copy equals its original")
    if not _is_true(config, "topic.preserve.partitions", default=True):
        found.append(f"{name} does not keep the partition of a record (topic.preserve.partitions is false)")
    if transforms := config.get("transforms"):
        found.append(f"{name} changes records by transforms ({transforms}), so copies differ from their originals")
    try:
        copied = [topic for topic in topics if copies_topic(config, topic)]
    except re.error as error:
        return [*found, f"topic.regex of {name} cannot be read here ({cause(error)})"]
    return [*found, *not_alone(name, copied, owns=owns)]


def _listed(config: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in config.get(key, "").split(",") if each.strip())


def _is_true(config: Mapping[str, str], key: str, *, default: bool) -> bool:
    return config.get(key, str(default)).strip().lower() == "true"
