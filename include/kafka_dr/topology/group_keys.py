"""The keys that a protection group and a declaration of active-active use have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import (
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
)
from kafka_dr.topology.flow import FlowSpec
from kafka_dr.topology.names import covers
from kafka_dr.topology.objectives import Objectives
from kafka_dr.topology.readers import GroupsPolicy

#: What can be seen of a cluster that is down.
Sign = Literal["unreachable", "no_active_broker", "offline_partitions", "no_controller", "writes_fail"]


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


class GroupKeys(Section):
    """What is fenced, who is trusted, who approves, and how long things may take."""

    topics: tuple[TopicName, ...] = Field(default=(), description="topics by their whole name")
    topic_prefixes: tuple[TopicName, ...] = Field(default=(), description="topics by the beginning of their name")
    transactional_ids: tuple[ResourceName, ...] = Field(default=(), description="transactional ids in full")
    transactional_id_prefixes: tuple[ResourceName, ...] = Field(
        default=(), description="transactional ids by their beginning"
    )
    principals: Annotated[tuple[Principal, ...], Field(min_length=1)] = Field(
        description="every application that writes or reads, such as User:orders-app; the fence denies them what "
        "belongs to the group, so an application may be in several groups"
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
    objectives: Objectives = Field(description="what the protection group has to achieve")
    flow: FlowSpec = Field(default_factory=FlowSpec, description="how replication is set up")
    thresholds: Thresholds = Field(default_factory=Thresholds, description="beyond which a run does not start")
    timing: Timing = Field(default_factory=Timing, description="how long things wait")
    audits: AuditsSpec = Field(default_factory=AuditsSpec, description="how the copy is audited")
    groups_policy: GroupsPolicy = Field(
        default_factory=GroupsPolicy, description="what to do with groups that cannot simply be moved"
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
