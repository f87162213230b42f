"""Who may change a group's topics and consumer groups without writing records; partition leaders cannot show that.

That applications may not is proven by the ACLs: they are read back and evaluated by the authorizer's rule. The fence
covers declared principals only, and no right on the whole cluster: a principal with ALLOW CREATE on the cluster can
create a topic in spite of a DENY CREATE on that topic, because the broker requires only one of the two rights (seen on
4.3.1). Principals with such rights are named and stop no run; the report of the run says what changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters import Acl, AclOperation, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run
from kafka_dr.topology.model import ProtectionGroup

NAME = "changers_declared"
_CLUSTER = "kafka-cluster"
#: How many a message names; the facts hold all.
_MOST_NAMED = 4
_WHAT_TO_DO = "Remove these rights, or declare the principals"


@dataclass(frozen=True, slots=True)
class ChangeRights:
    """Which principals may change topics and groups, other than the operator, the replicator and super users.

    :param rights: what each principal may do, in the order of the operations, for instance ``DELETE topics``
    :param creators: the principals that may create any topic, by a right on the cluster
    """

    rights: dict[str, tuple[str, ...]] = field(default_factory=dict)
    creators: tuple[str, ...] = ()

    def of(self, principals: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the rights of these principals only."""
        return {who: rights for who, rights in self.rights.items() if who in principals}

    def others(self, declared: Collection[str]) -> Iterator[str]:
        """Name the principals that a fence of the declared ones does not stop."""
        for who, rights in self.rights.items():
            if who not in declared:
                name = "everybody (User:*)" if who == EVERYONE else who
                yield f"{name} may {', '.join(rights)} and is not among the group's principals"
        if self.creators:
            yield f"{', '.join(self.creators)} may create topics by CREATE on the cluster, which a DENY does not stop"


def change_rights(authorizer: Authorizer, group: ProtectionGroup, *, topics: Collection[str]) -> ChangeRights:
    """Evaluate who may change the group's topics and consumer groups.

    Evaluated for the names that exist, that are declared, and that ACLs name: also for topics that do not exist yet. Of
    patterns only for those that exist: no DENY can be on others, and ``topics_of_patterns`` names who may create them.

    :param topics: the group's topics on that cluster
    """
    exempt = {group.operator_principal, group.replicator_principal, *group.super_users}
    known = {
        ResourceType.TOPIC: {*topics, *group.literal_topics, *group.topic_prefixes},
        ResourceType.GROUP: {*group.consumer_groups, *group.consumer_group_prefixes},
    }
    owns = {ResourceType.TOPIC: group.declares_topic, ResourceType.GROUP: group.owns_group}
    rights: dict[str, list[str]] = {}
    for kind, operations in plan.CHANGES.items():
        names = known[kind] | set(filter(owns[kind], authorizer.names(kind)))
        for operation in operations:
            for who in authorizer.able(operation, kind, names) - exempt:
                rights.setdefault(who, []).append(f"{operation} {kind}s")
    creators = authorizer.able(AclOperation.CREATE, ResourceType.CLUSTER, [_CLUSTER]) - exempt
    return ChangeRights({who: tuple(rights[who]) for who in sorted(rights)}, tuple(sorted(creators)))


def changers_declared(run: Run, clusters: Collection[str], *, seen: ReadCache) -> Check:
    """Name the principals that could change topics or groups of a fenced cluster in spite of the fence."""
    said = []
    undecided = not_by_acls(run, clusters, "who may change topics and groups there")
    for name in filter(run.decides_by_acls, clusters):
        found = change_rights(authorizer_of(run, name, seen.acls(name)), run.group, topics=seen.topics(name))
        said += [f"{sentence} (on {name})" for sentence in found.others(run.group.principals)]
    if not said and undecided:
        return Check(NAME, "excused", undecided)
    if not said:
        return Check(
            NAME, "ok", f"only operator and replicator may change topics or groups on {' and '.join(clusters)}"
        )
    return Check(
        NAME,
        "excused",
        f"{_shown(said)}. Remove these rights, or declare the principals; the report will say what changed",
        {"holders": said},
    )


def changes_refused(context: GroupContext, cluster: str) -> Check:
    """Prove that no application may change topics or groups: by DENYs read back, and by the authorizer's rule.

    Where ACLs do not decide, the DENYs are read back, and nothing is known of anybody's rights.
    """
    name, operator, group = "changes_refused", context.operator(cluster), context.group
    present = context.denies_present(cluster, plan.change_fence(group.on(cluster)))
    if not context.decides_by_acls(cluster):
        return present.named("denies")
    if present.outcome != "ok" or not group.closes(cluster):
        return present.named(name)
    acls: frozenset[Acl] = operator.acls.list()
    found = change_rights(authorizer_of(context, cluster, acls), group, topics=context.topic_names(cluster))
    if passing := found.of(group.principals):
        said = "; ".join(f"{who} may {', '.join(rights)}" for who, rights in passing.items())
        return Check(name, "failed", f"in spite of its DENYs {said} on {cluster}: check its ACLs and its super.users")
    others = list(found.others(group.principals))
    if others:
        return Check(
            name,
            "excused",
            f"on {cluster} {_shown(others)}: remove these rights, or declare the principals",
            {"holders": others},
        )
    return Check(name, "ok", f"only operator and replicator may change topics or groups on {cluster}")


def _shown(said: list[str]) -> str:
    return "; ".join(first_few(said, _MOST_NAMED))
