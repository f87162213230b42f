"""The declared world: clusters, and protection groups that move between them as one.

The topology says what exists and what is wanted. It never says which cluster is active now: that is in the
DR register. Descriptions of the fields are shown to whoever wrote the file wrongly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr

from kafka_dr.naming import DefaultNaming, Naming
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.declared import NotLookedUp, OnlyObserved, declared
from kafka_dr.topology.drill import DrillSpec
from kafka_dr.topology.evidence import EvidenceSpec
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.fields import (
    AbsolutePath,
    ConfigKey,
    ConnectionId,
    Count,
    HttpAddress,
    Name,
    Principal,
    PublicKey,
    ResourceName,
    Seconds,
    Section,
    TopicName,
    TopicPattern,
)
from kafka_dr.topology.flow import FlowSpec
from kafka_dr.topology.names import DRILL_PREFIX, covers, is_internal_topic
from kafka_dr.topology.notifiers import NotifierSpec
from kafka_dr.topology.objectives import Objectives
from kafka_dr.topology.observed import ObservedFlowSpec
from kafka_dr.topology.patterns import matched
from kafka_dr.topology.readers import GroupsPolicy, ReadersSpec

#: What can be seen of a cluster that is down.
Sign = Literal["unreachable", "no_active_broker", "offline_partitions", "no_controller", "writes_fail"]


class RouteSpec(Section):
    """Where applications look up the active cluster."""

    #: The key that says where it is kept; no two groups may share its value.
    KEPT_AT: ClassVar[str] = "path"

    kind: Literal["file"] = Field(description="the kind of router")
    path: AbsolutePath = Field(description="the absolute path of the file; one file for each protection group")

    def for_group(self, name: str) -> RouteSpec:
        """Return a route of the same kind for another group, kept apart from this one."""
        return self.model_copy(update={"path": str(Path(self.path).with_name(f"{name}.json"))})


class Thresholds(Section):
    """Measured values beyond which a run does not start, or an audit is red."""

    max_tail_records: Count = Field(
        default=10_000, description="how many records may be left to verify by content inside the outage"
    )
    max_lag_seconds: Seconds = Field(
        default=300,
        description="how old the oldest record not yet copied may be when a failover begins; an older one is late, and "
        "the checksum audit red",
    )
    max_record_age_seconds: Seconds = Field(
        default=60, description="how old a record may be before it has to be on the target"
    )
    max_replication_latency_seconds: Seconds = Field(
        default=30, description="how long 99 of 100 records may take from the source to the target"
    )
    max_checkpoint_latency_seconds: Seconds = Field(
        default=120, description="how long a group's position may be ahead of what is copied, where it has no copy yet"
    )
    min_retention_headroom_seconds: Seconds = Field(
        default=3600, description="how long before the source deletes a record that is not copied somebody must know"
    )
    canary_late_seconds: Seconds = Field(default=10, description="after how long a canary record counts as late")


class Timing(Section):
    """How long things wait."""

    confirm_seconds: Seconds = Field(default=30, description="after how long a suspected disaster is looked at again")
    hold_down_seconds: Seconds = Field(
        default=3600, description="how long after a failover another one needs an explicit acknowledgement"
    )
    approval_expiry_seconds: Seconds = Field(default=900, description="how long an approval may be given and used")
    transaction_grace_seconds: Seconds = Field(
        default=2, description="how long open transactions may still be ended by their owners after the fence"
    )
    drain_seconds: Seconds = Field(default=5, description="how long consumer groups get to reach the end")
    fetch_seconds: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)] = Field(
        default=60,
        description="how long an unplanned failover of several standbys may fetch what another standby holds more; 0: "
        "nothing is fetched",
    )
    step_deadline_seconds: Seconds = Field(default=120, description="after how long a single step gives up")
    protect_wait_seconds: Seconds = Field(
        default=60, description="how long the reverse flow may take to move before it is reported as pending"
    )


class AuditsSpec(Section):
    """How the copy is audited, and how long the answers count."""

    before_failover: Literal["green", "not_red"] = Field(
        default="green",
        description="what the newest audits have to be when a failover begins: green and fresh, or only not red",
    )
    checksum_max_age_seconds: Seconds = Field(
        default=2700, description="how old the newest checksum audit may be when a failover begins"
    )
    lag_max_age_seconds: Seconds = Field(
        default=900, description="how old the newest lag audit may be when a failover begins or a cluster may be dead"
    )
    keep_fingerprints_seconds: Seconds = Field(
        default=604_800, description="how long the fingerprint of a record is kept after it was read"
    )
    duplicates: Literal["fail", "report"] = Field(
        default="fail", description="what a record that was copied twice makes of an audit: fail, or report it only"
    )


class DisasterSpec(Section):
    """What counts as a disaster, who has to see it, and who has to say yes."""

    down_when: Annotated[tuple[Sign, ...], Field(min_length=1)] = Field(
        default=("unreachable", "no_active_broker", "offline_partitions"),
        description="the signs of which any one means that a cluster is down",
    )
    vantages: dict[Name, HttpAddress] = Field(
        default={},
        description='addresses, elsewhere, that answer {"up": true} or {"up": false}; {cluster} in one is its name',
    )
    vantage_connections: dict[Name, ConnectionId] = Field(
        default={},
        description="the connection id of the login, the token and the certificates that a vantage asks for, by its "
        "name; a vantage that is left out is asked without them",
    )
    vantages_needed: Count = Field(
        default=2, description="how many vantages have to see the cluster down, this program among them"
    )
    probe_seconds: Annotated[float, Field(gt=0, le=10, strict=True, allow_inf_nan=False)] = Field(
        default=5, description="how long each probe may take, all at the same time; at most 10"
    )
    auto_propose: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="true: open a failover for approval automatically; it never runs without approval"
    )
    approvers_needed: Literal[1, 2] = Field(
        default=1, description="how many different approvers have to say yes to an unplanned failover: 1 or 2"
    )


class ConfigSyncSpec(Section):
    """How the standby's configuration is kept like the active cluster's. A key is in at most one of the lists."""

    apply_safe: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="whether safe changes are made without asking: true or false"
    )
    must_match: tuple[ConfigKey, ...] = Field(
        default=(), description="topic configurations, in addition to the usual ones, whose difference stops a switch"
    )
    at_least: tuple[ConfigKey, ...] = Field(
        default=(), description="topic configurations of which the standby may have more, but not less"
    )
    may_differ: tuple[ConfigKey, ...] = Field(
        default=(), description="topic configurations that the standby may set to something else"
    )
    site_specific: tuple[ConfigKey, ...] = Field(
        default=(), description="topic configurations that are a matter of each cluster alone and are not compared"
    )
    keyed_topics: tuple[TopicName, ...] = Field(
        default=(), description="topics whose partitions are chosen by key, so that adding some needs an approval"
    )
    keyed_topic_prefixes: tuple[TopicName, ...] = Field(
        default=(), description="such topics by the beginning of their name"
    )

    def is_keyed(self, topic: str) -> bool:
        """Return whether the topology says that a topic's partitions are chosen by key."""
        return covers(topic, literals=self.keyed_topics, prefixes=self.keyed_topic_prefixes)


class ProtectionGroup(Section):
    """What moves together: topics, groups, transactional ids and the route; of these, nothing is in two groups."""

    name: Name = Field(description="the key of the group")
    pattern: Literal["active_standby"] = Field(
        default="active_standby", description="active_standby: one cluster takes writes, the others refuse them"
    )
    clusters: Annotated[tuple[str, ...], Field(min_length=2)] = Field(description="at least two of the clusters above")
    initial_active: str = Field(description="the cluster that is active when the group is adopted")
    topics: tuple[TopicName, ...] = Field(default=(), description="topics by their whole name")
    topic_prefixes: tuple[TopicName, ...] = Field(default=(), description="topics by the beginning of their name")
    topic_patterns: tuple[TopicPattern, ...] = Field(
        default=(), description="topics by regular expressions that match their whole name; looked up on the clusters"
    )
    consumer_groups: tuple[ResourceName, ...] = Field(default=(), description="consumer groups by their whole name")
    consumer_group_prefixes: tuple[ResourceName, ...] = Field(default=(), description="consumer groups by prefix")
    transactional_ids: tuple[ResourceName, ...] = Field(default=(), description="transactional ids in full")
    transactional_id_prefixes: tuple[ResourceName, ...] = Field(
        default=(), description="transactional ids by their beginning"
    )
    principals: Annotated[tuple[Principal, ...], Field(min_length=1)] = Field(
        description="every application that writes or reads, such as User:orders-app; the fence denies them what "
        "belongs to the group, so an application may be in several groups"
    )
    fence_operations: Literal["listed", "all"] = Field(
        default="listed",
        description="what the fence of a standby, and of a drained source, denies: listed operations, or all of them, "
        "also DESCRIBE, in a sixth of the DENYs; all only when every installation that shares the registers has a "
        "version that knows it",
    )
    probe_principal: Principal = Field(description="the principal of the probe connections, such as User:probe")
    replicator_principal: Principal = Field(description="the principal that replication writes as")
    operator_principal: Principal = Field(description="the principal of the operator connections")
    audit_principal: Principal | None = Field(
        default=None, description="the principal of the audit connections; left out, it counts as an undeclared reader"
    )
    super_users: tuple[Principal, ...] = Field(
        default=(), description="the brokers' super.users: they pass every fence, so they must be known"
    )
    approvers: tuple[Annotated[str, Field(pattern=r"\S")], ...] = Field(
        description="the Airflow users who may approve a failover, by name; at least one, or a role in approver_roles"
    )
    approver_roles: tuple[Annotated[str, Field(pattern=r"\S")], ...] = Field(
        default=(), description="roles of Airflow's auth manager; everybody who has one may approve a failover"
    )
    requester_may_approve: bool = Field(
        default=True, description="whether the person who triggered a run may also approve it; false: four eyes"
    )
    approver_keys: dict[str, PublicKey] = Field(default={}, description="of approvers on the command line, by name")
    requester_keys: dict[str, PublicKey] = Field(default={}, description="of people who only begin runs there, by name")
    route: RouteSpec = Field(description="where applications look up the active cluster")
    objectives: Objectives = Field(description="what the protection group has to achieve")
    flow: FlowSpec = Field(default_factory=FlowSpec, description="how replication is set up")
    thresholds: Thresholds = Field(default_factory=Thresholds, description="beyond which a run does not start")
    timing: Timing = Field(default_factory=Timing, description="how long things wait")
    audits: AuditsSpec = Field(default_factory=AuditsSpec, description="how the copy is audited")
    groups_policy: GroupsPolicy = Field(
        default_factory=GroupsPolicy, description="what to do with groups that cannot simply be moved"
    )
    readers: ReadersSpec = Field(
        default_factory=ReadersSpec, description="who reads the topics and is not moved with them"
    )
    disaster: DisasterSpec = Field(
        default_factory=DisasterSpec, description="what counts as a disaster, and who has to say yes"
    )
    watch: Literal["quick", "normal", "idle"] = Field(
        default="normal", description="how often the scheduled checks look at the group; health: always each minute"
    )
    config_sync: ConfigSyncSpec = Field(
        default_factory=ConfigSyncSpec, description="how the standby's configuration is kept like the active one's"
    )
    drill: DrillSpec | None = Field(
        default=None, description="how this group's failovers are practised, on topics that the drill makes for itself"
    )
    existing_replication: ExistingReplicationSpec | None = Field(
        default=None, description="what copies these topics now, set up by somebody else; an adoption takes it over"
    )
    #: The topics that the patterns are known to match, which no file declares; ``None`` before they are looked up.
    _matched_topics: tuple[str, ...] | None = PrivateAttr(default=None)

    def with_matched(self, names: Iterable[str]) -> ProtectionGroup:
        """Return this group with the topics that its patterns match, as they were looked up.

        :param names: topics of any owner; those that no pattern of this group matches are left out
        """
        found = (name for name in names if not self.declares_topic(name) and self.owns_topic(name))
        resolved = self.model_copy()
        resolved._matched_topics = tuple(sorted(set(found)))
        return resolved

    @property
    def matched_topics(self) -> tuple[str, ...]:
        """The topics that the patterns are known to match, sorted, without those that are declared in another way.

        :raises NotLookedUp: nobody has looked them up, so a fence would leave them out
        """
        if self._matched_topics is None and self.topic_patterns:
            raise NotLookedUp(f"which topics match the patterns of {self.name} has not been looked up")
        return self._matched_topics or ()

    @property
    def literal_topics(self) -> tuple[str, ...]:
        """The topics that ACLs and replication name one by one: declared ones, and those that patterns match.

        :raises NotLookedUp: nobody has looked the latter up
        """
        return (*self.topics, *self.matched_topics)

    def declares_topic(self, name: str) -> bool:
        """Return whether a topic is declared by its name or prefix, whatever patterns match."""
        return covers(name, literals=self.topics, prefixes=self.topic_prefixes)

    @property
    def kafka_connections(self) -> tuple[str, ...]:
        """The connection ids that belong to this group alone by which anything reaches a cluster."""
        return () if self.drill is None else tuple(self.drill.connections.values())

    @property
    def http_connections(self) -> tuple[str, ...]:
        """The connection ids of the services that this group alone needs: vantages, and what copies it now."""
        existing = self.existing_replication
        copied_by = () if existing is None else (existing.connect, existing.kubernetes)
        return (*self.disaster.vantage_connections.values(), *filter(None, copied_by))

    @property
    def renames_copies(self) -> bool:
        """Whether a copy has another name than its original, so that it is never opened."""
        return self.flow.naming != "identity"

    @property
    def copies_named(self) -> str:
        """What is between the name of its cluster and that of a topic in the name of a copy; empty: as its original."""
        return self.flow.separator if self.renames_copies else ""

    def naming(self, source: str, target: str) -> Naming | None:
        """Return what the copies of one cluster's topics are called on another; ``None``: as their originals."""
        return DefaultNaming(source, target, self.flow.separator) if self.renames_copies else None

    def copies_of(self, names: Collection[str], cluster: str) -> tuple[str, ...]:
        """Return what a cluster calls its copies of topics, or of prefixes, of all other clusters.

        There are none where copies have the names of their originals.
        """
        namings = (self.naming(origin, cluster) for origin in self.clusters if origin != cluster)
        found = (naming.copy_of(name) for naming in namings if naming is not None for name in names)
        return tuple(name for name in found if name is not None)

    def original_of(self, name: str, cluster: str) -> str | None:
        """Return of which topic of this group a topic on a cluster is the copy under another name; else ``None``."""
        for origin in self.clusters if self.renames_copies else ():
            naming = self.naming(origin, cluster) if origin != cluster else None
            if naming is not None and (found := naming.original_of(name)) is not None and self.owns_topic(found):
                return found
        return None

    def moves_positions_in(self, name: str, cluster: str) -> bool:
        """Return whether a failover from a cluster moves what groups have committed there in a topic."""
        return self.owns_topic(name) or self.original_of(name, cluster) is not None

    @property
    def canary_topic(self) -> str:
        """The topic of numbered records that shows whether, when and in which order records are copied."""
        return f"{self.name}.dr-canary"

    @property
    def existing_is_own(self) -> bool:
        """Whether the existing replication writes as this project's replicator, so that no DENY can stop it alone."""
        existing = self.existing_replication
        return existing is not None and existing.principal == self.replicator_principal

    def owns_topic(self, name: str) -> bool:
        """Return whether a topic moves with this group; internal ones never do."""
        if is_internal_topic(name) or self._reads_as_copy(name):
            return False
        # Topics of drills, and copies of them, are made for a group of their own, whatever a pattern matches.
        return self.declares_topic(name) or (DRILL_PREFIX not in name and matched(name, self.topic_patterns))

    def _reads_as_copy(self, name: str) -> bool:
        """Return whether a name begins with that of a cluster, where copies do: a pattern may match it all the same."""
        return self.renames_copies and name.startswith(tuple(f"{each}{self.flow.separator}" for each in self.clusters))

    def owns_group(self, name: str) -> bool:
        """Return whether a consumer group moves with this protection group."""
        return covers(name, literals=self.consumer_groups, prefixes=self.consumer_group_prefixes)

    def owns_transactional_id(self, name: str) -> bool:
        """Return whether a transactional id belongs to an application of this group."""
        return covers(name, literals=self.transactional_ids, prefixes=self.transactional_id_prefixes)


class Topology(Section):
    """Everything that is declared."""

    evidence: EvidenceSpec = Field(description="where the proof of every run is kept")
    airflow_runs_in: Name | None = Field(
        default=None, description="the cluster whose datacenter Airflow shares, or elsewhere"
    )
    notifications: dict[Name, NotifierSpec] = Field(
        default_factory=dict, description="who is notified when something changes, by a name of your own"
    )
    clusters: dict[Name, ClusterSpec] = Field(default_factory=dict, description="the clusters by name")
    protection_groups: dict[Name, ProtectionGroup] = Field(
        default_factory=dict, description="the protection groups by name"
    )
    observed_flows: dict[Name, ObservedFlowSpec] = Field(
        default_factory=dict, description="replication that somebody else runs and that is observed alone, by name"
    )

    def cluster(self, name: str) -> ClusterSpec:
        """Return a cluster.

        :raises UnknownName: when it is not declared
        """
        return declared(self.clusters, name, kind="cluster")

    def group(self, name: str) -> ProtectionGroup:
        """Return a protection group.

        :raises UnknownName: when it is not declared
        :raises OnlyObserved: when it is an observed flow
        """
        if name in self.observed_flows:
            raise OnlyObserved(
                f"{name} is an observed flow: it is read and reported about, and nothing of it is changed. See it with "
                f"python -m kafka_dr observe {name}; what is failed over has to be a protection group"
            )
        return declared(self.protection_groups, name, kind="protection group")

    def observed_flow(self, name: str) -> ObservedFlowSpec:
        """Return an observed flow.

        :raises UnknownName: when it is not declared
        """
        return declared(self.observed_flows, name, kind="observed flow")
