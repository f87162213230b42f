"""Observed flows: replication that somebody else runs. It is read and reported about, and nothing of it is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.naming import AffixNaming, DefaultNaming, IdentityNaming, Naming, TableNaming
from kafka_dr.topology.fields import (
    ConnectionId,
    Count,
    Name,
    ResourceName,
    Seconds,
    Section,
    TopicName,
    TopicPattern,
)
from kafka_dr.topology.names import covers, is_internal_topic
from kafka_dr.topology.patterns import matched

_NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class NamingSpec(Section):
    """What the copies of topics are called on the target."""

    policy: Literal["identity", "default", "affix", "table"] = Field(
        default="identity",
        description="identity: as their originals; default: by MirrorMaker's DefaultReplicationPolicy, the source's "
        "alias first; affix: with a prefix or suffix; table: as a table says",
    )
    source_alias: _NamePart | None = Field(
        default=None, description="the source's alias in MirrorMaker's settings; needed with default"
    )
    target_alias: _NamePart | None = Field(
        default=None, description="the target's alias in MirrorMaker's settings; shows what is not copied back"
    )
    separator: _NamePart = Field(default=".", description="replication.policy.separator of MirrorMaker")
    prefix: _NamePart | None = Field(default=None, description="with affix: what the name of each copy begins with")
    suffix: _NamePart | None = Field(default=None, description="with affix: what the name of each copy ends with")
    table: dict[TopicName, TopicName] = Field(
        default_factory=dict, description="with table: each topic of the source, and what its copy is called"
    )

    def rule(self) -> Naming:
        """Return the rule that names copies."""
        source, target = self.source_alias or "", self.target_alias or ""
        rules: dict[str, Callable[[], Naming]] = {
            "identity": lambda: IdentityNaming(source, target, self.separator),
            "default": lambda: DefaultNaming(source, target, self.separator),
            "affix": lambda: AffixNaming(self.prefix or "", self.suffix or ""),
            "table": lambda: TableNaming(self.table),
        }
        return rules[self.policy]()


class ObservedCluster(Section):
    """A cluster of an observed flow."""

    name: Name = Field(description="what the cluster is called in the report")
    connection: ConnectionId = Field(
        description="the connection id of a principal that may READ and DESCRIBE the topics and DESCRIBE the groups; "
        "where it may also DESCRIBE_CONFIGS, settings are compared"
    )
    cluster_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = Field(
        default=None, description="the id that the cluster itself reports; a cluster with another id is not read"
    )


class ObservedAuditsSpec(Section):
    """The audits by Spark of an observed flow. They run if the section is there, even if it is empty."""

    duplicates: Literal["report", "fail"] = Field(
        default="report",
        description="what a record that was copied twice makes of an audit: report it only, as replication at least "
        "once does that, or fail",
    )
    keep_fingerprints_seconds: Seconds = Field(
        default=604_800, description="how long the fingerprint of a record, and a report, is kept"
    )
    min_retention_headroom_seconds: Seconds = Field(
        default=3600, description="how long before the source deletes a record that is not copied somebody must know"
    )


class ObservedCanarySpec(Section):
    """Numbered records that dr_canary writes to one topic of the source. Without it nothing is written anywhere."""

    topic: TopicName = Field(description="a topic of the source that exists, that the flow copies, and nobody reads")
    connection: ConnectionId = Field(
        description="the connection id of a principal that may WRITE to this topic of the source, and nothing else"
    )
    late_seconds: Seconds = Field(default=10, description="after how long a canary record counts as late")


class ObservedFlowSpec(Section):
    """Replication of some topics from one cluster to another, by whatever replicator, which is observed alone."""

    name: Name = Field(description="the key of the flow")
    source: ObservedCluster = Field(description="the cluster that applications write to")
    target: ObservedCluster = Field(description="the cluster that holds the copy")
    naming: NamingSpec = Field(default_factory=NamingSpec, description="what the copies of topics are called")
    topics: tuple[TopicName, ...] = Field(default=(), description="topics of the source by their whole name")
    topic_prefixes: tuple[TopicName, ...] = Field(default=(), description="topics by the beginning of their name")
    topic_patterns: tuple[TopicPattern, ...] = Field(
        default=(), description="topics by regular expressions that match their whole name"
    )
    consumer_groups: tuple[ResourceName, ...] = Field(default=(), description="consumer groups by their whole name")
    consumer_group_prefixes: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups by the beginning of their name"
    )
    checkpoints_topic: TopicName | None = Field(
        default=None,
        description="the topic on the target with MirrorMaker's checkpoints; left out, the one that its aliases name",
    )
    late_after_seconds: Seconds = Field(
        default=60, description="how old a record may be before it has to be on the target"
    )
    records_per_partition: Count = Field(
        default=100_000, description="how many of the newest records of a partition are compared, on each cluster"
    )
    most_records: Count = Field(
        default=2_000_000, description="how many records one look compares; partitions that it does not reach are named"
    )
    most_seconds: Seconds = Field(
        default=600, description="how long one look may read; partitions that it does not reach are named"
    )
    audits: ObservedAuditsSpec | None = Field(
        default=None, description="audits by Spark of all records, and of the lag; left out, there are none"
    )
    canary: ObservedCanarySpec | None = Field(
        default=None, description="numbered records that show whether the flow works; left out, nothing is written"
    )

    @property
    def connections(self) -> tuple[str, ...]:
        """The connection ids that are used for it."""
        observing = self.source.connection, self.target.connection
        return observing if self.canary is None else (*observing, self.canary.connection)

    @property
    def watches(self) -> tuple[Literal["observation", "checksum", "lag", "canary"], ...]:
        """What looks at this flow on a schedule."""
        audits: tuple[Literal["checksum", "lag"], ...] = () if self.audits is None else ("checksum", "lag")
        return "observation", *audits, *(() if self.canary is None else ("canary",))

    @property
    def checkpoints(self) -> str | None:
        """The topic of the existing checkpoints; ``None`` if it is not known."""
        return self.checkpoints_topic or self.naming.rule().checkpoints_topic

    def covers_topic(self, name: str) -> bool:
        """Return whether a topic of the source belongs to this flow."""
        declared = covers(name, literals=self.topics, prefixes=self.topic_prefixes)
        return declared or (not is_internal_topic(name) and matched(name, self.topic_patterns))

    def covers_group(self, name: str) -> bool:
        """Return whether a consumer group is looked at."""
        return covers(name, literals=self.consumer_groups, prefixes=self.consumer_group_prefixes)
