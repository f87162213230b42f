"""Who the workers are that run a cluster's flows. They do not say it, so it is concluded from their group and the ACLs.

A fence denies the replicator, and ends transactions whose ids begin with the workers' group: both would miss workers
with another login or another group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_dr.clusters.model import AclOperation, GroupState, ResourceType
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.doctor.finding import SetUpFinding
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.model import ProtectionGroup

_LOOK = (
    "Look at sasl.jaas.config, or the subject of ssl.keystore.location, of each worker, also with producer. before it"
)


def examine_workers(
    clients: Clients, name: str, groups: Iterable[ProtectionGroup], authorizer: Authorizer, tool: ToolAccess
) -> Iterator[SetUpFinding]:
    """Look for the workers in their group, and say who may be in it.

    :param name: of the cluster
    :param groups: those that have a copy there
    :param authorizer: of that cluster, without the fences of this project
    """
    spec, operator = clients.topology.cluster(name), clients.cluster(name, "operator")
    members = operator.groups.states([spec.connect_group_id])[spec.connect_group_id]
    yield judge_workers(name, spec, members, authorizer if spec.access_rules.acls_decide else None, groups, tool)


def judge_workers(
    name: str,
    spec: ClusterSpec,
    members: GroupState,
    authorizer: Authorizer | None,
    groups: Iterable[ProtectionGroup],
    tool: ToolAccess,
) -> SetUpFinding:
    """Judge what a cluster shows of the workers.

    :param members: the workers' group
    :param authorizer: ``None`` if not ACLs decide
    """
    worker_group = spec.connect_group_id
    if not members.members:
        said = f"group {worker_group} has no members on {name}, so the workers of its flows are in another one"
        wanted = "give connect_group_id of the topology the group.id of these workers, and let them run on this cluster"
        return SetUpFinding(name, "workers", "failed", f"{said}: {wanted}", commands=(_groups(tool),))
    replicators = {each.replicator_principal for each in groups}
    ours = " or ".join(sorted(replicators))
    expected = f"They have to log in as {ours}"
    if authorizer is None:
        said = f"how the workers in group {worker_group} on {name} log in is not checked, because not ACLs decide there"
        return SetUpFinding(name, "workers", "unknown", f"{said}. {expected}. {_LOOK}")
    super_users = {user for each in groups for user in each.super_users}
    others = sorted(_able(authorizer, spec) - replicators - super_users)
    if others:
        named = "everybody" if EVERYONE in others else ", ".join(others)
        said = (
            f"how the workers in group {worker_group} on {name} log in is not checked: {named} may do what they do, too"
        )
        return SetUpFinding(name, "workers", "unknown", f"{said}. {expected}. {_LOOK}")
    said = f"the workers in group {worker_group} on {name} log in as {ours}: the ACLs let nobody else do what they do"
    return SetUpFinding(name, "workers", "ok", f"{said}, but for super users, who are not checked")


def _able(authorizer: Authorizer, spec: ClusterSpec) -> frozenset[str]:
    """Return who may do all that a worker does with its own login, or all that it does with that of its producers."""
    group, able = spec.connect_group_id, authorizer.able
    own = able(AclOperation.READ, ResourceType.GROUP, [group])
    own &= able(AclOperation.WRITE, ResourceType.TOPIC, [spec.connect_states_topic])
    producers = able(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, [f"{group}-"])
    return own | (producers & able(AclOperation.WRITE, ResourceType.TOPIC, [spec.connect_positions_topic]))


def _groups(tool: ToolAccess) -> str:
    return f"{tool.tool('kafka-consumer-groups.sh')} --list"
