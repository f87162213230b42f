"""Replication of a protection group that somebody else has set up, and that an adoption takes over."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import ConnectionId, Principal, ResourceName, Seconds, Section, TopicName

#: What copies the group's topics now; ``external`` is anything else.
ReplicatorKind = Literal["mirrormaker_connect", "mirrormaker", "strimzi", "confluent_replicator", "external"]
#: A program and its arguments, each an entry of its own: no shell reads them.
OwnersCommand = Annotated[tuple[Annotated[str, Field(pattern=r"^\S(.*\S)?$")], ...], Field(min_length=1)]
_KubernetesName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]


class ExistingReplicationSpec(Section):
    """What copies the group's topics to the standby before the group is adopted, and how it can be stopped."""

    replicator: ReplicatorKind = Field(
        description="mirrormaker_connect: connectors of MirrorMaker 2 on a Connect cluster; mirrormaker: MirrorMaker 2 "
        "as a process of its own; strimzi: a KafkaMirrorMaker2 of Strimzi; confluent_replicator: Confluent Replicator "
        "on a Connect cluster; external: anything else"
    )
    principal: Principal = Field(
        description="the principal that it writes to the standby as; a take over denies it the group's topics there, "
        "so it must be no principal that anything else needs. The replicator's own with exactly-once connectors alone"
    )
    connect: ConnectionId | None = Field(
        default=None,
        description="with mirrormaker_connect and confluent_replicator: the connection id of the REST API of its "
        "Connect workers",
    )
    connectors: tuple[ResourceName, ...] = Field(
        default=(),
        description="with mirrormaker_connect: the names of its connectors, also of those that copy checkpoints; with "
        "confluent_replicator: the name of its one connector",
    )
    kubernetes: ConnectionId | None = Field(
        default=None,
        description="with strimzi: the connection id of the Kubernetes API, as an account that may get and update the "
        "resource, and get, create and update ConfigMaps in its namespace",
    )
    namespace: _KubernetesName | None = Field(default=None, description="with strimzi: the namespace of the resource")
    resource: _KubernetesName | None = Field(
        default=None, description="with strimzi: the name of the KafkaMirrorMaker2"
    )
    source_alias: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")] | None = Field(
        default=None, description="with mirrormaker and strimzi: the alias of the active cluster in its settings"
    )
    offsets_topic: TopicName | None = Field(
        default=None,
        description="with mirrormaker: the topic on the standby in which it keeps its positions; "
        "mm2-offsets.<source_alias>.internal if left out",
    )
    stop_command: OwnersCommand | None = Field(
        default=None,
        description="a program and its arguments, as a list, that stops it and answers 0, also if it is stopped "
        "already; without one it is stopped by denying its principal alone",
    )
    start_command: OwnersCommand | None = Field(
        default=None,
        description="a program and its arguments, as a list, that starts it again and answers 0; if it runs "
        "already, it must not start a second one",
    )
    command_seconds: Seconds = Field(default=60, description="how long such a command may take, in seconds")

    @property
    def positions_topic(self) -> str | None:
        """The topic in which a MirrorMaker of its own keeps its positions; ``None`` for the others."""
        if self.replicator != "mirrormaker":
            return None
        return self.offsets_topic or f"mm2-offsets.{self.source_alias}.internal"
