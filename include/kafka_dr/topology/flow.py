"""How replication of a protection group is set up, and what becomes of what it delivers late."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import Count, Section, TopicName

#: What becomes of the records of a topic that only a lost cluster holds, where copies have names of their own: they
#: arrive late in the copy; are published to a topic of stranded records; or stay in files alone.
LateChoice = Literal["deliver", "stranded_topic", "hold"]


class FlowSpec(Section):
    """How replication of the group's topics is set up, in either direction."""

    naming: Literal["identity", "default"] = Field(
        default="identity",
        description="identity: a copy has the name of its original, and a failover opens it; default: it begins with "
        "the name of its original's cluster, as in east.orders, nobody but replication ever writes to it, and a "
        "failover moves the applications to the target's own topics; replication with other names can be observed, as "
        "one of observed_flows, and not failed over",
    )
    separator: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,20}$")] = Field(
        default=".", description="with default: what is between the name of the cluster and that of the topic"
    )
    late_held: tuple[TopicName, ...] = Field(
        default=(),
        description="with default: topics whose late records are not delivered after the loss of a cluster: they stay "
        "in files, and the flow continues after them",
    )
    late_to_stranded_topic: tuple[TopicName, ...] = Field(
        default=(),
        description="with default: topics whose late records are published to <topic>.stranded on the active cluster "
        "instead of being delivered",
    )
    order: Literal["none", "copy_first"] = Field(
        default="none",
        description="with default: copy_first: after a failover nobody writes to a topic until the consumer groups "
        "have read its copy to the end, so the records of a key are read in their order; none: applications write at "
        "once",
    )
    copy_first_seconds: Annotated[int, Field(ge=1, le=600, strict=True)] = Field(
        default=30,
        description="with copy_first: for how long writes wait; after that applications write all the same, and the "
        "failover names the groups that had records left",
    )
    tasks_max: Count = Field(default=2, description="how many tasks copy; each has its own transactional id")
    offset_lag_max: Annotated[int, Field(ge=0, strict=True)] = Field(
        default=100, description="after how many records an offset sync is written; 0 for each record"
    )
    fetch_wait_ms: Annotated[int, Field(ge=1, le=500, strict=True)] = Field(
        default=100, description="how long the source waits for a megabyte before it sends what it has, in milliseconds"
    )
    replication_factor: Annotated[int, Field(ge=1, le=32767, strict=True)] = Field(
        default=3, description="the replication factor of topics that replication creates"
    )
    refresh_topics_seconds: Count = Field(default=5, description="how often new topics and partitions are looked for")

    @property
    def writes_wait_seconds(self) -> int:
        """For how long writes may wait until groups have read their copies; 0: they do not."""
        return self.copy_first_seconds if self.order == "copy_first" else 0

    def late_choice(self, topic: str) -> LateChoice:
        """Return what is declared to become of a topic's late records."""
        if topic in self.late_held:
            return "hold"
        return "stranded_topic" if topic in self.late_to_stranded_topic else "deliver"
