"""The access rules of a cluster, by where the topology says that they are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafka_dr.access_rules.broker import BrokerRules
from kafka_dr.access_rules.command import CommandRules
from kafka_dr.access_rules.desired import DesiredRules
from kafka_dr.access_rules.kafka_users import KafkaUsers
from kafka_dr.access_rules.port import AccessRules
from kafka_dr.access_rules.rules_file import RulesFile
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.kubernetes import KubernetesApi
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.model import ProtectionGroup


def access_rules_of(
    spec: AccessRulesSpec,
    cluster: KafkaCluster,
    group: ProtectionGroup,
    *,
    kubernetes: Callable[[str], KubernetesApi],
    clock: Clock,
    at_most_seconds: float,
) -> AccessRules:
    """Return the access rules of a cluster, as far as the fences of a protection group are made of them.

    :param cluster: reached as the operator
    :param kubernetes: returns the API of Kubernetes of a connection id
    :param at_most_seconds: how long a change is waited for, if the topology allows more
    """
    seconds = min(spec.applied_within_seconds, at_most_seconds)
    match spec.kept_by:
        case "broker":
            return BrokerRules(cluster)
        case "command":
            return CommandRules(cluster.name, group.name, spec.program, clock, seconds)
        case "file":
            file = RulesFile(Path(str(spec.path)), cluster.name, group.name, clock, spec.apply)
            return DesiredRules(cluster, file, clock, seconds)
        case "kafka_user":
            own = (group.probe_principal, group.replicator_principal, group.operator_principal)
            existing = () if group.existing_replication is None else (group.existing_replication.principal,)
            users = KafkaUsers(
                kubernetes(str(spec.connection)),
                str(spec.namespace),
                spec.api_version,
                group.name,
                (*group.principals, *own, *existing),
                spec.users,
            )
            return DesiredRules(cluster, users, clock, seconds)
