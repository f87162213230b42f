"""The declared world, read from one YAML file; all its mistakes are reported at once, each with its line."""

from __future__ import annotations

from kafka_dr.topology.access_rules import AccessRulesSpec, KeptBy
from kafka_dr.topology.audited import (
    AuditedEnd,
    AuditedFlow,
    audited_flow,
    audited_flows,
    clusters_of,
    flows_of_group,
    observed_audits,
)
from kafka_dr.topology.cluster import ClusterSpec, ConnectionIds, PasswordEnd, PasswordEnds, ReplicatorEndpoint
from kafka_dr.topology.declared import NotLookedUp, OnlyObserved, UnknownName, texts_of
from kafka_dr.topology.drill import DrillKind, DrillSpec
from kafka_dr.topology.evidence import EvidenceSpec, RetentionSpec
from kafka_dr.topology.existing import ExistingReplicationSpec, ReplicatorKind
from kafka_dr.topology.loading import load
from kafka_dr.topology.mistakes import Mistake, TopologyError
from kafka_dr.topology.model import (
    AuditsSpec,
    ConfigSyncSpec,
    DisasterSpec,
    FlowSpec,
    ProtectionGroup,
    RouteSpec,
    Thresholds,
    Timing,
    Topology,
)
from kafka_dr.topology.names import DRILL_PREFIX, is_internal_topic
from kafka_dr.topology.notifiers import SAYS_MORE, NotifierSpec, Occasion
from kafka_dr.topology.objectives import Objectives
from kafka_dr.topology.observed import (
    NamingSpec,
    ObservedAuditsSpec,
    ObservedCanarySpec,
    ObservedCluster,
    ObservedFlowSpec,
)
from kafka_dr.topology.patterns import fixed_beginning, matched
from kafka_dr.topology.readers import GroupsPolicy

__all__ = [
    "load",
    "texts_of",
    "Topology",
    "TopologyError",
    "Mistake",
    "UnknownName",
    "NotLookedUp",
    "ClusterSpec",
    "AccessRulesSpec",
    "KeptBy",
    "ConnectionIds",
    "PasswordEnd",
    "PasswordEnds",
    "ReplicatorEndpoint",
    "NotifierSpec",
    "Occasion",
    "SAYS_MORE",
    "AuditedEnd",
    "AuditedFlow",
    "audited_flow",
    "audited_flows",
    "clusters_of",
    "flows_of_group",
    "observed_audits",
    "ProtectionGroup",
    "ObservedFlowSpec",
    "ObservedAuditsSpec",
    "ObservedCanarySpec",
    "ObservedCluster",
    "NamingSpec",
    "OnlyObserved",
    "RouteSpec",
    "FlowSpec",
    "Objectives",
    "Thresholds",
    "Timing",
    "AuditsSpec",
    "GroupsPolicy",
    "DisasterSpec",
    "ConfigSyncSpec",
    "DrillSpec",
    "DrillKind",
    "DRILL_PREFIX",
    "ExistingReplicationSpec",
    "ReplicatorKind",
    "EvidenceSpec",
    "RetentionSpec",
    "is_internal_topic",
    "matched",
    "fixed_beginning",
]
