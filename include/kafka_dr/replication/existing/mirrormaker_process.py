"""MirrorMaker 2 as a process of its own, set up by somebody else. It has no REST API.

It keeps its positions as Connect does, in a topic on the target. They are read there. Nobody else may write them while
it may run, so none are given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kafka_dr.clusters import KafkaCluster, NotAuthorized, NotFound, TopicPartition
from kafka_dr.replication.connect_positions import decode_position, is_position
from kafka_dr.replication.connect_topic import ConnectTopic
from kafka_dr.replication.existing.owned_process import OwnedProcess, OwnersCommands
from kafka_dr.replication.existing.port import Abilities, Ability

#: How long the topic may give no record while there are more of them, in seconds.
_STALL_SECONDS = 10.0


class MirrorMakerProcess(OwnedProcess):
    """A MirrorMaker 2 that copies a group's topics.

    :param commands: of its owner
    :param target: reached as somebody who may read the topic of its positions
    :param offsets_topic: the name of that topic
    :param source_alias: of the source, in its settings
    :param owns: whether a topic belongs to the protection group
    """

    def __init__(
        self,
        commands: OwnersCommands,
        *,
        target: KafkaCluster,
        offsets_topic: str,
        source_alias: str,
        owns: Callable[[str], bool],
    ) -> None:
        super().__init__("mirrormaker", commands)
        self._target = target
        self._offsets_topic = offsets_topic
        self._source_alias = source_alias
        self._owns = owns

    def abilities(self) -> Abilities:
        """Return what is known of it: how far it has committed, if that topic can be read."""
        found = self._stored()
        positions = (
            Ability(False, found)
            if isinstance(found, str)
            else Ability(True, f"it keeps them in {self._offsets_topic}")
        )
        return replace(
            super().abilities(),
            positions=positions,
            seed=Ability(False, f"only it writes its positions ({self._offsets_topic})"),
        )

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return whether it also copies topics that are not the group's, or that nobody can say that.

        Without a ``stop_command`` the same holds: the DENY ends whole tasks, whatever else they copy.
        """
        found = self._stored()
        if isinstance(found, str) or not found:
            reason = found or f"{self._offsets_topic} on {self._target.name} holds no position of {self._source_alias}"
            return (
                f"{reason}, so nobody can say which topics {self.described} copies, and those of others would be "
                "stopped with it: correct offsets_topic or source_alias, let the audit principal read that topic, or "
                "wait until it has committed (offset.flush.interval.ms)",
            )
        others = sorted({p.topic for p in found if not self._owns(p.topic)} & set(topics))
        if not others:
            return ()
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        return (
            f"{self.described} also copies {shown}, which are not the group's, and would be stopped with it: let "
            "another process copy them, or add them to the group",
        )

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return the positions that it has committed, of the group's topics alone; ``None`` if they cannot be read."""
        found = self._stored()
        return None if isinstance(found, str) else {p: offset for p, offset in found.items() if self._owns(p.topic)}

    def _stored(self) -> Mapping[TopicPartition, int] | str:
        """Return its positions of every topic, or why they cannot be read."""
        stored = ConnectTopic(self._target, self._offsets_topic, keep=is_position, stall_seconds=_STALL_SECONDS)
        try:
            newest = stored.newest()
        except NotFound:
            return f"there is no topic {self._offsets_topic} on {self._target.name}"
        except NotAuthorized:
            return f"the audit principal may not read {self._offsets_topic} on {self._target.name}"
        decoded = (decode_position(key, value) for key, value in newest.items())
        own = (found for found in decoded if found is not None and found[1] == self._source_alias)
        return {partition: offset + 1 for _, _, partition, offset in own if offset is not None}
