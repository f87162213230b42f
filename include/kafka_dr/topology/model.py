"""The declared world: clusters, and protection groups that move between them as one.

The topology says what exists and what is wanted. It never says which cluster is active now: that is in the
DR register. Descriptions of the fields are shown to whoever wrote the file wrongly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, model_validator

from kafka_dr.naming import DefaultNaming, Naming
from kafka_dr.topology.blocks import ActiveActiveSpec, BlockSpec, HubAndSpokeSpec, MemberOf, memberships
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.declared import NotLookedUp, OnlyObserved, declared
from kafka_dr.topology.drill import DrillSpec
from kafka_dr.topology.evidence import EvidenceSpec
from kafka_dr.topology.existing import ExistingReplicationSpec
from kafka_dr.topology.fields import (
    Name,
    ResourceName,
    Section,
    TopicPattern,
)
from kafka_dr.topology.group_keys import GroupKeys
from kafka_dr.topology.names import DRILL_PREFIX, canary_topic_of, covers, is_internal_topic
from kafka_dr.topology.notifiers import NotifierSpec
from kafka_dr.topology.observed import ObservedFlowSpec
from kafka_dr.topology.patterns import matched
from kafka_dr.topology.readers import ReadersSpec
from kafka_dr.topology.residency import ResidencySpec
from kafka_dr.topology.route import RouteSpec
from kafka_dr.topology.stretch import StretchClusterSpec


class ProtectionGroup(GroupKeys):
    """What moves together: topics, groups, transactional ids and the route; of these, nothing is in two groups."""

    name: Name = Field(description="the key of the group")
    pattern: Literal["active_standby"] = Field(
        default="active_standby", description="active_standby: one cluster takes writes, the others refuse them"
    )
    clusters: Annotated[tuple[str, ...], Field(min_length=2)] = Field(description="at least two of the clusters above")
    initial_active: str = Field(description="the cluster that is active when the group is adopted")
    topic_patterns: tuple[TopicPattern, ...] = Field(
        default=(), description="topics by regular expressions that match their whole name; looked up on the clusters"
    )
    consumer_groups: tuple[ResourceName, ...] = Field(default=(), description="consumer groups by their whole name")
    consumer_group_prefixes: tuple[ResourceName, ...] = Field(default=(), description="consumer groups by prefix")
    fence_operations: Literal["listed", "all"] = Field(
        default="listed",
        description="what the fence of a standby, and of a drained source, denies: listed operations, or all of them, "
        "also DESCRIBE, in a sixth of the DENYs; all only when every installation that shares the registers has a "
        "version that knows it",
    )
    route: RouteSpec = Field(description="where applications look up the active cluster")
    readers: ReadersSpec = Field(
        default_factory=ReadersSpec, description="who reads the topics and is not moved with them"
    )
    drill: DrillSpec | None = Field(
        default=None, description="how this group's failovers are practised, on topics that the drill makes for itself"
    )
    existing_replication: ExistingReplicationSpec | None = Field(
        default=None, description="what copies these topics now, set up by somebody else; an adoption takes it over"
    )
    #: The topics that the patterns are known to match, which no file declares; ``None`` before they are looked up.
    _matched_topics: tuple[str, ...] | None = PrivateAttr(default=None)
    #: The topics that not all of its clusters may hold: whatever a pattern matches, they are never this group's.
    _not_held: tuple[ResidencySpec, ...] = PrivateAttr(default=())
    #: What the group is in a declaration of active-active use; ``None`` if it is in none.
    _member_of: MemberOf | None = PrivateAttr(default=None)
    #: The cluster whose fence is meant, see :meth:`on`.
    _on: str | None = PrivateAttr(default=None)

    def as_member(self, member_of: MemberOf) -> ProtectionGroup:
        """Return this group as a part of active-active use."""
        found = self.model_copy()
        found._member_of = member_of
        return found

    @property
    def member_of(self) -> MemberOf | None:
        """What the group is in a declaration of active-active use; ``None`` if it is in none."""
        return self._member_of

    def on(self, cluster: str) -> ProtectionGroup:
        """Return this group as it is fenced on a cluster."""
        if self._member_of is None:
            return self
        found = self.model_copy()
        found._on = cluster
        return found

    @property
    def everywhere(self) -> ProtectionGroup:
        """This group as if its fence covered the topics on each cluster: as those of all groups of its block do."""
        found = self.model_copy()
        found._member_of = None
        return found

    @property
    def origins(self) -> tuple[str, ...]:
        """The clusters whose applications write these topics: each other one may hold copies of them."""
        return self.clusters if self._member_of is None else tuple(self._member_of.groups)

    def shares_with(self, other: ProtectionGroup) -> bool:
        """Return whether two groups are parts of the same active-active use, and have the same topics."""
        mine, theirs = self._member_of, other._member_of
        return mine is not None and theirs is not None and mine.block == theirs.block

    def closes(self, cluster: str) -> bool:
        """Return whether its fence on a cluster covers topics, and not only consumer groups.

        Where members take writes together, the topics of each are closed and opened with its own clients.
        """
        return self._member_of is None or self._member_of.member == cluster

    @property
    def closes_topics(self) -> bool:
        """Return the same of the cluster that :meth:`on` has named.

        :raises ValueError: it has named none, and it matters
        """
        if self._member_of is not None and self._on is None:
            raise ValueError(f"{self.name} is fenced otherwise on each cluster, and none was named")
        return self._on is None or self.closes(self._on)

    def flow_group(self, source: str) -> str:
        """Return the name of the group to which the flows from a cluster belong."""
        return self.name if self._member_of is None else self._member_of.groups[source]

    def owns_flows_from(self, source: str) -> bool:
        """Return whether the flows from a cluster are this group's to start, stop and judge."""
        return self.flow_group(source) == self.name

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
        """The connection ids of the services that this group alone needs: vantages, its route, what copies it now."""
        existing = self.existing_replication
        copied_by = () if existing is None else (existing.connect, existing.kubernetes)
        return (*self.disaster.vantage_connections.values(), *self.route.http_connections, *filter(None, copied_by))

    @property
    def renames_copies(self) -> bool:
        """Whether a copy has another name than its original, so that it is never opened."""
        return self.flow.naming != "identity"

    @property
    def copies_named(self) -> str:
        """What is between the name of its cluster and that of a topic in the name of a copy; empty: as its original."""
        return self.flow.separator if self.renames_copies else ""

    @property
    def copies_begin(self) -> dict[str, str]:
        """What the names of copies begin with, by the cluster of their originals; nothing where they have those."""
        return {each: f"{each}{self.flow.separator}" for each in self.origins} if self.renames_copies else {}

    def naming(self, source: str, target: str) -> Naming | None:
        """Return what the copies of one cluster's topics are called on another; ``None``: as their originals."""
        return DefaultNaming(source, target, self.flow.separator) if self.renames_copies else None

    def copies_of(self, names: Collection[str], cluster: str) -> tuple[str, ...]:
        """Return what a cluster calls its copies of topics, or of prefixes, of all other clusters.

        There are none where copies have the names of their originals.
        """
        namings = (self.naming(origin, cluster) for origin in self.origins if origin != cluster)
        found = (naming.copy_of(name) for naming in namings if naming is not None for name in names)
        return tuple(name for name in found if name is not None)

    def original_of(self, name: str, cluster: str) -> str | None:
        """Return of which topic of this group a topic on a cluster is the copy under another name; else ``None``."""
        for origin in self.origins if self.renames_copies else ():
            naming = self.naming(origin, cluster) if origin != cluster else None
            if naming is not None and (found := naming.original_of(name)) is not None and self.owns_topic(found):
                return found
        return None

    def moves_positions_in(self, name: str, cluster: str) -> bool:
        """Return whether a failover from a cluster moves what groups have committed there in a topic."""
        return self.owns_topic(name) or self.original_of(name, cluster) is not None

    @property
    def groups_set(self) -> tuple[str, ...]:
        """The declared consumer groups whose offsets a failover sets: those that move, and those that read a rest."""
        return (*self.consumer_groups, *(self._member_of.rest_groups.values() if self._member_of else ()))

    @property
    def canary_topic(self) -> str:
        """The topic of numbered records that shows whether, when and in which order records are copied."""
        return canary_topic_of(self.name)

    @property
    def existing_is_own(self) -> bool:
        """Whether the existing replication writes as this project's replicator, so that no DENY can stop it alone."""
        existing = self.existing_replication
        return existing is not None and existing.principal == self.replicator_principal

    def owns_topic(self, name: str) -> bool:
        """Return whether a topic moves with this group; internal ones never do."""
        if is_internal_topic(name) or self._reads_as_copy(name) or any(each.covers(name) for each in self._not_held):
            return False
        # Topics of drills, and copies of them, are made for a group of their own, whatever a pattern matches.
        return self.declares_topic(name) or (DRILL_PREFIX not in name and matched(name, self.topic_patterns))

    def _reads_as_copy(self, name: str) -> bool:
        """Return whether a name begins with that of a cluster, where copies do: a pattern may match it all the same."""
        return name.startswith(tuple(self.copies_begin.values()))

    def owns_group(self, name: str) -> bool:
        """Return whether a consumer group moves with this protection group."""
        return covers(name, literals=self.consumer_groups, prefixes=self.consumer_group_prefixes)

    def owns_transactional_id(self, name: str) -> bool:
        """Return whether a transactional id belongs to an application of this group."""
        return covers(name, literals=self.transactional_ids, prefixes=self.transactional_id_prefixes)


#: What looks on a schedule at what is no protection group.
ApartWatch = Literal["observation", "checksum", "lag", "canary", "stretch", "conflicts"]


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
    active_active: dict[Name, ActiveActiveSpec] = Field(
        default_factory=dict, description="clusters that take writes to the same topics together, by name"
    )
    hub_and_spoke: dict[Name, HubAndSpokeSpec] = Field(
        default_factory=dict, description="clusters that take writes, and hubs that hold copies of all of them, by name"
    )
    data_residency: dict[Name, ResidencySpec] = Field(
        default_factory=dict, description="topics that certain clusters alone may hold, by a name of your own"
    )
    observed_flows: dict[Name, ObservedFlowSpec] = Field(
        default_factory=dict, description="replication that somebody else runs and that is observed alone, by name"
    )
    stretch_clusters: dict[Name, StretchClusterSpec] = Field(
        default_factory=dict, description="clusters that are spread over several sites, by name"
    )

    @model_validator(mode="after")
    def with_members(self) -> Topology:
        """Show the groups what is declared about them elsewhere: in a block, and about data residency."""
        for group in self.protection_groups.values():
            rules = self.data_residency.values()
            group._not_held = tuple(each for each in rules if not set(group.clusters) <= set(each.may_be_held_by))
        for section, block, spec in self._blocks:
            for name, membership in memberships(section, block, dict(spec)).items():
                if name in self.protection_groups:
                    self.protection_groups[name] = self.protection_groups[name].as_member(membership)
        return self

    @property
    def blocks(self) -> dict[str, MemberOf]:
        """The blocks of members, by name, each as its first member sees it."""
        found = ((block, memberships(section, block, dict(spec))) for section, block, spec in self._blocks)
        return {block: next(iter(members.values())) for block, members in found}

    @property
    def conflict_blocks(self) -> dict[str, ActiveActiveSpec]:
        """The blocks whose conflicts are audited."""
        return {name: spec for name, spec in self.active_active.items() if spec.conflicts is not None}

    @property
    def watched_apart(self) -> dict[str, dict[str, tuple[ApartWatch, ...]]]:
        """What is looked at and is no protection group: by kind and name, what looks at it on a schedule."""
        kinds: dict[str, Mapping[str, ObservedFlowSpec | StretchClusterSpec | ActiveActiveSpec]] = {
            "observed": self.observed_flows,
            "stretched": self.stretch_clusters,
            "conflicts": self.conflict_blocks,
        }
        return {kind: {name: tuple(found[name].watches) for name in sorted(found)} for kind, found in kinds.items()}

    @property
    def _blocks(self) -> list[tuple[str, str, BlockSpec]]:
        sections: dict[str, Mapping[str, BlockSpec]] = {
            "active_active": self.active_active,
            "hub_and_spoke": self.hub_and_spoke,
        }
        return [(section, block, spec) for section, found in sections.items() for block, spec in found.items()]

    def cluster(self, name: str) -> ClusterSpec:
        """Return a cluster.

        :raises UnknownName: when it is not declared
        """
        return declared(self.clusters, name, kind="cluster")

    def group(self, name: str) -> ProtectionGroup:
        """Return a protection group.

        :raises UnknownName: when it is not declared
        :raises OnlyObserved: when it is an observed flow or a stretch cluster
        """
        if name in self.stretch_clusters:
            raise OnlyObserved(
                f"{name} is a stretch cluster: it fails over by itself, and nothing of it is changed. See what the "
                f"loss of a site would do with python -m kafka_dr stretch {name}"
            )
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

    def stretch_cluster(self, name: str) -> StretchClusterSpec:
        """Return a stretch cluster.

        :raises UnknownName: when it is not declared
        """
        return declared(self.stretch_clusters, name, kind="stretch cluster")
