"""Whether each principal has the rights that a run would need. What is not granted is found out before it is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters.model import Acl, AclOperation, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.closure import found_in
from kafka_dr.outcomes import Check
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.runs.run import Run
from kafka_dr.topology.model import ProtectionGroup

NAME = "rights_granted"
_CLUSTER = "kafka-cluster"
#: A right on this name is one on every name.
_EVERY = ("*",)
_SHOWN = 4
_READ, _WRITE = AclOperation.READ, AclOperation.WRITE
_DESCRIBE, _CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS


@dataclass(frozen=True, slots=True)
class NeededRights:
    """What one principal has to be allowed on every name of a kind. A declared prefix is asked about as a name."""

    principal: str
    resource: ResourceType
    names: tuple[str, ...]
    operations: tuple[AclOperation, ...]

    def lacking(self, authorizer: Authorizer) -> Iterator[str]:
        """Name what a cluster does not allow."""
        for operation in self.operations:
            names = [
                name for name in self.names if not authorizer.allows(self.principal, operation, self.resource, name)
            ]
            if names:
                yield f"{self.principal} lacks {operation} on {self._where(names)}"

    def _where(self, names: list[str]) -> str:
        if self.resource is ResourceType.CLUSTER:
            return "the cluster"
        return f"{self.resource.value.replace('_', ' ')} {', '.join(names[:_SHOWN])}"


def needed_rights(
    group: ProtectionGroup, existing: Collection[str] = (), *, changes_acls: bool = True
) -> tuple[NeededRights, ...]:
    """Return what the steps of the verbs, health and the audits need on each cluster, active or standby.

    An operator that does not see every topic and consumer group counts too few partitions, and misses readers that
    nobody declared. What only ``dr_config_sync`` needs is not among it, nor are the rights of applications: the standby
    has to have the same as the active cluster, which ``standby_configured`` compares.

    :param existing: the group's topics on a cluster: a prefix may be allowed, and one topic of it denied
    :param changes_acls: whether the operator changes the brokers' ACLs itself
    """
    on_cluster = (_DESCRIBE, AclOperation.ALTER) if changes_acls else (_DESCRIBE,)
    declared = (*group.literal_topics, *group.topic_prefixes, group.canary_topic)
    topics = tuple(dict.fromkeys((*declared, *sorted(existing))))
    groups = (*group.groups_set, *group.consumer_group_prefixes)
    ids = (*group.transactional_ids, *group.transactional_id_prefixes)
    kept = (REGISTER_TOPIC, DIGESTS_TOPIC)
    operator, probe, replicator = group.operator_principal, group.probe_principal, group.replicator_principal
    of_audit = (
        (
            NeededRights(group.audit_principal, ResourceType.TOPIC, topics, (_READ, _DESCRIBE)),
            NeededRights(group.audit_principal, ResourceType.TOPIC, kept, (_READ,)),
        )
        if group.audit_principal
        else ()
    )
    return (
        NeededRights(operator, ResourceType.CLUSTER, (_CLUSTER,), on_cluster),
        NeededRights(operator, ResourceType.TOPIC, topics, (_READ, _DESCRIBE, _CONFIGS)),
        NeededRights(operator, ResourceType.TOPIC, _EVERY, (_DESCRIBE,)),
        NeededRights(operator, ResourceType.TOPIC, kept, (_READ, _WRITE)),
        NeededRights(operator, ResourceType.GROUP, _EVERY, (_DESCRIBE,)),
        NeededRights(operator, ResourceType.GROUP, groups, (_READ, _DESCRIBE)),
        NeededRights(
            operator, ResourceType.TRANSACTIONAL_ID, (f"kafka-dr-register-{group.name}", *ids), (_WRITE, _DESCRIBE)
        ),
        NeededRights(replicator, ResourceType.TOPIC, topics, (_READ, _DESCRIBE, _CONFIGS, _WRITE, AclOperation.ALTER)),
        NeededRights(probe, ResourceType.TOPIC, topics, (_READ, _WRITE, _DESCRIBE)),
        NeededRights(probe, ResourceType.GROUP, groups, (_READ, _DESCRIBE)),
        *of_audit,
    )


def without_fences(group: ProtectionGroup, acls: Iterable[Acl]) -> frozenset[Acl]:
    """Return the ACLs without the DENYs of this project: they come and go with the roles of the clusters."""
    found = frozenset(acls)
    return found - found_in(found, frozenset().union(*(plan.every(group, name) for name in group.clusters)))


def rights_granted(run: Run) -> Check:
    """Return whether every principal has its rights on both clusters."""
    return _rights_on(run, (run.source, run.target))


def rights_granted_on_target(run: Run) -> Check:
    """Return whether every principal has its rights on the target."""
    return _rights_on(run, (run.target,))


def judge_rights(lacking: Collection[str], clusters: Collection[str]) -> Check:
    """Judge what is lacking: nobody knows whether a step that needs it would succeed.

    :param lacking: a sentence for each right
    """
    where = " and ".join(clusters)
    if not lacking:
        return Check(NAME, "ok", f"operator, probe, replicator and audit have the rights that a run needs on {where}")
    shown = list(lacking)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    detail = f"{'; '.join(shown[:_SHOWN])}{more}: whether the steps that need this would succeed is not known"
    return Check(NAME, "unknown", f"{detail}. Grant it with kafka-acls.sh; include/guide/rights.md lists all rights")


def _rights_on(run: Run, clusters: tuple[str, ...]) -> Check:
    lacking = []
    undecided = not_by_acls(run, clusters, "whether operator, probe, replicator and audit have their rights there")
    for name in filter(run.decides_by_acls, clusters):
        authorizer = authorizer_of(run, name, without_fences(run.group, run.read_cache.acls(name)))
        direct = run.access_rules(name).is_direct
        needed = needed_rights(run.group, run.read_cache.topics(name), changes_acls=direct)
        found = (said for each in needed for said in each.lacking(authorizer))
        lacking += [f"{said} of {name}" if said.endswith("the cluster") else f"{said} on {name}" for said in found]
    if undecided and not lacking:
        return Check(NAME, "excused", undecided)
    return judge_rights(lacking, clusters)
