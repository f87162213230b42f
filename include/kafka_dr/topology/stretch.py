"""Stretch clusters: one cluster whose brokers are in several sites. Its placement is judged, and nothing is changed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import ConnectionId, Name, Seconds, Section, TopicName
from kafka_dr.topology.names import covers

#: Brokers accept any text as their rack.
RackName = Annotated[str, Field(pattern=r"^[^\s](.*[^\s])?$")]
NodeId = Annotated[int, Field(ge=0, strict=True)]


class StretchDelaySpec(Section):
    """Records that measure the delay between sites. Without this section nothing is written to the cluster."""

    topic: TopicName = Field(
        description="a topic that nobody else uses, with a partition for each pair of sites: led in one, copied to the "
        "other; python -m kafka_dr stretch NAME --plan prints the command that makes it"
    )
    connection: ConnectionId = Field(
        description="the connection id of a principal that may WRITE and DESCRIBE this topic, and nothing else"
    )
    most_ms: Seconds = Field(default=10, description="the longest delay between two sites, in milliseconds (median)")


class StretchClusterSpec(Section):
    """One cluster that is spread over sites, so that the loss of any one of them stops nothing."""

    name: Name = Field(description="the key of the cluster")
    connection: ConnectionId = Field(
        description="the connection id of a principal that may DESCRIBE and DESCRIBE_CONFIGS the cluster and its topics"
    )
    cluster_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = Field(
        default=None, description="the id that the cluster itself reports; a cluster with another id is not judged"
    )
    sites: dict[Name, Annotated[tuple[RackName, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="the racks of each site; left out, each rack is a site"
    )
    controllers: dict[Name, Annotated[tuple[NodeId, ...], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="by site, the node ids of controllers that are no brokers: no metadata says where they are",
    )
    topics: tuple[TopicName, ...] = Field(
        default=(), description="the topics that are judged, by their whole name; left out with the prefixes, all"
    )
    topic_prefixes: tuple[TopicName, ...] = Field(
        default=(), description="the topics that are judged, by the beginning of their name"
    )
    acks: Literal["all", "not_all"] | None = Field(
        default=None,
        description="what clients wait for: all if every one of them that writes uses acks=all, else not_all; no "
        "cluster shows it, so without this key it is unknown",
    )
    apply_connection: ConnectionId | None = Field(
        default=None,
        description="the connection id of a principal that may ALTER the cluster, by which a person applies a plan; "
        "left out, plans are only printed",
    )
    delay: StretchDelaySpec | None = Field(
        default=None, description="how the delay between sites is measured; left out, it is not judged"
    )

    @property
    def connections(self) -> tuple[str, ...]:
        """The connection ids that are used for it."""
        return (self.connection,) if self.delay is None else (self.connection, self.delay.connection)

    @property
    def watches(self) -> tuple[Literal["stretch"], ...]:
        """What looks at this cluster on a schedule."""
        return ("stretch",)

    def site_of_rack(self, rack: str) -> str | None:
        """Return the site of a rack; ``None`` if it has none. An empty rack is none."""
        if not self.sites:
            return rack or None
        return next((site for site, racks in self.sites.items() if rack in racks), None)

    def site_of_controller(self, node: int) -> str | None:
        """Return the declared site of a controller that is no broker."""
        return next((site for site, nodes in self.controllers.items() if node in nodes), None)

    def judges(self, topic: str) -> bool:
        """Return whether a topic is judged. Kafka's own are always: without them clients do not work.

        The topic of the delay never is: its partitions have one replica in each of two sites on purpose.
        """
        if self.delay is not None and topic == self.delay.topic:
            return False
        everything = not self.topics and not self.topic_prefixes
        return everything or topic.startswith("__") or covers(topic, literals=self.topics, prefixes=self.topic_prefixes)
