"""Who may change what a cluster holds of a group, otherwise than by writing: no question to a leader shows that.

Where applications are denied it, that is proven by the ACLs themselves, read back and put to the authorizer's rule. No
fence is about a principal that nobody declared, nor about a right on the whole cluster: an ALLOW of CREATE on the
cluster lets its holder create a topic whatever a DENY of CREATE on that topic says, as the broker asks for either of
the two (seen on 4.3.1). Who has such a right is named, and stops no run: the report says what changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kafka_dr.checks.authorizers import authorizer_of
from kafka_dr.clusters import Acl, AclOperation, ResourceType
from kafka_dr.fencing import plan, proof
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.record import Check, first_few
from kafka_dr.runs.run import Run
from kafka_dr.topology import ProtectionGroup

NAME = "changers_declared"
_CLUSTER = "kafka-cluster"
#: What a sentence names one by one; the facts hold all of it.
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class ChangeRights:
    """Who may change what is there, apart from those who have to: the operator, replication, and super users.

    :param rights: what each may do, in the order of the operations, for instance ``DELETE topics``
    :param creators: who may create any topic, by a right on the cluster
    """

    rights: dict[str, tuple[str, ...]] = field(default_factory=dict)
    creators: tuple[str, ...] = ()

    def of(self, principals: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the rights of these alone."""
        return {who: rights for who, rights in self.rights.items() if who in principals}

    def others(self, declared: Collection[str]) -> Iterator[str]:
        """Say who is not stopped by a fence of the declared principals."""
        for who, rights in self.rights.items():
            if who not in declared:
                name = "everybody (User:*)" if who == EVERYONE else who
                yield f"{name} may {', '.join(rights)} and is not among the group's principals"
        if self.creators:
            yield f"{', '.join(self.creators)} may create topics by CREATE on the cluster, which a DENY does not stop"


def change_rights(authorizer: Authorizer, group: ProtectionGroup, *, topics: Collection[str]) -> ChangeRights:
    """Decide who may change the group's topics and consumer groups.

    Asked about are the names that exist, those that are declared, and those that ACLs know: of topics to come, too.

    :param topics: the group's topics on that cluster
    """
    aside = {group.operator_principal, group.replicator_principal, *group.super_users}
    known = {
        ResourceType.TOPIC: {*topics, *group.topics, *group.topic_prefixes},
        ResourceType.GROUP: {*group.consumer_groups, *group.consumer_group_prefixes},
    }
    owns = {ResourceType.TOPIC: group.owns_topic, ResourceType.GROUP: group.owns_group}
    rights: dict[str, list[str]] = {}
    for kind, operations in plan.CHANGES.items():
        names = known[kind] | set(filter(owns[kind], authorizer.names(kind)))
        for operation in operations:
            for who in authorizer.able(operation, kind, names) - aside:
                rights.setdefault(who, []).append(f"{operation} {kind}s")
    creators = authorizer.able(AclOperation.CREATE, ResourceType.CLUSTER, [_CLUSTER]) - aside
    return ChangeRights({who: tuple(rights[who]) for who in sorted(rights)}, tuple(sorted(creators)))


def changers_declared(run: Run, clusters: Collection[str], *, seen: ReadCache) -> Check:
    """Name who could change what a fenced cluster holds in spite of the fence."""
    said = []
    for name in clusters:
        found = change_rights(authorizer_of(run, name, seen.acls(name)), run.group, topics=seen.topics(name))
        said += [f"{sentence} (on {name})" for sentence in found.others(run.group.principals)]
    if not said:
        return Check(NAME, "ok", "nobody else may change the topics and groups")
    return Check(NAME, "excused", f"{_shown(said)}. The report names what changed", {"holders": said})


def changes_refused(context: GroupContext, cluster: str) -> Check:
    """Prove that no application may change what is there: DENYs read back, and put to the authorizer's rule."""
    name, operator, group = "changes_refused", context.operator(cluster), context.group
    present = proof.acls_present(operator, plan.change_fence(group), clock=context.clock)
    if present.outcome != "ok":
        return Check.of(name, present)
    acls: frozenset[Acl] = operator.acls.list()
    found = change_rights(authorizer_of(context, cluster, acls), group, topics=context.topics(cluster))
    if passing := found.of(group.principals):
        said = "; ".join(f"{who} may {', '.join(rights)}" for who, rights in passing.items())
        return Check(name, "failed", f"in spite of its DENYs {said} on {cluster}")
    others = list(found.others(group.principals))
    if others:
        return Check(name, "excused", f"on {cluster} {_shown(others)}", {"holders": others})
    return Check(name, "ok", f"nobody but operator and replication may change topics or groups on {cluster}")


def _shown(said: list[str]) -> str:
    return "; ".join(first_few(said, _MOST_NAMED))
