"""Whether the register is at least as strong as what it protects: who may write it, and how its topic is set.

A register has no signature: the record of any principal with WRITE counts. So only this project's own principals may
write its topics and its transactional ids, or delete or reconfigure these topics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kafka_dr import parallel
from kafka_dr.checks.authorizers import authorizer_of
from kafka_dr.clusters import Acl, AclOperation, AclPermission, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.outcomes import Check
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.register.topic_settings import unlike
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.topology import Topology

WRITERS, TOPIC = "register_writers", "register_topic"
OWN_TOPICS = "_kafka_dr."
#: Each audit writes known faults to it, and nothing is decided from it.
SELF_TEST_TOPIC = "_kafka_dr.selftest"
#: What changes a topic's records: DELETE and ALTER_CONFIGS make them expire, ALTER adds partitions.
_CHANGING = (AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Guarded:
    """One topic or transactional id that only some principals may write.

    :param owners: these principals
    """

    resource: ResourceType
    name: str
    owners: frozenset[str]


@dataclass(frozen=True, slots=True)
class Intruder:
    """A principal that may write what only this project may write.

    :param right: one of the ACLs that allow it; ``None`` if no ACL names the resource and everybody may
    """

    principal: str
    operation: AclOperation
    guarded: Guarded
    right: Acl | None

    def __str__(self) -> str:
        who = "everybody (User:*)" if self.principal == EVERYONE else self.principal
        why = "no ACL names it" if self.right is None else f"by {self.right}"
        return f"{who} has {self.operation.name} on the {_KINDS[self.guarded.resource]} {self.guarded.name} ({why})"


_KINDS = {ResourceType.TOPIC: "topic", ResourceType.TRANSACTIONAL_ID: "transactional id"}


def guarded(topology: Topology, topics: Collection[str]) -> tuple[Guarded, ...]:
    """Return what only this project's principals may write.

    :param topics: every topic of a cluster
    """
    groups = topology.protection_groups
    operators = frozenset(group.operator_principal for group in groups.values())
    probes = operators | {group.probe_principal for group in groups.values()}
    others = {name for name in topics if name.startswith(OWN_TOPICS)} - {REGISTER_TOPIC, SELF_TEST_TOPIC}
    return (
        Guarded(ResourceType.TOPIC, REGISTER_TOPIC, operators),
        *(Guarded(ResourceType.TOPIC, name, probes) for name in sorted(others)),
        *(
            Guarded(ResourceType.TRANSACTIONAL_ID, f"kafka-dr-{use}-{name}", owners)
            for name in groups
            for use, owners in (("register", operators), ("config", operators), ("rescue", probes))
        ),
    )


def intruders(
    authorizer: Authorizer, wanted: Collection[Guarded], *, super_users: Collection[str] = ()
) -> Iterator[Intruder]:
    """Yield each principal that may write what it does not own, once for each operation and resource.

    :param super_users: no ACL restricts them, so they cannot be checked
    """
    for each in wanted:
        operations = _CHANGING if each.resource is ResourceType.TOPIC else (AclOperation.WRITE,)
        for operation in operations:
            able = authorizer.able(operation, each.resource, [each.name]) - each.owners - frozenset(super_users)
            for principal in [EVERYONE] if EVERYONE in able else sorted(able):
                yield Intruder(principal, operation, each, _right(authorizer, each, principal, operation))


def _right(authorizer: Authorizer, each: Guarded, principal: str, operation: AclOperation) -> Acl | None:
    rights = (
        acl
        for acl in sorted(authorizer.about(each.resource, each.name))
        if acl.permission is AclPermission.ALLOW
        and acl.principal in (principal, EVERYONE)
        and acl.operation in (operation, AclOperation.ALL)
    )
    return next(rights, None)


def register_writers(context: GroupContext, clusters: Collection[str], *, seen: ReadCache | None = None) -> Check:
    """Return whether only this project's own principals may write the registers of these clusters.

    :param seen: ACLs that the checks of a step read once; ``None`` reads them again
    """
    supers = context.group.super_users
    found: list[str] = []
    for name in clusters:
        operator = context.operator(name)
        acls = seen.acls(name) if seen else operator.acls.list()
        wanted = guarded(context.clients.topology, operator.topics.names())
        found += [f"on {name} {one}" for one in _by_principal(authorizer_of(context, name, acls), wanted, supers)]
    operators = sorted({group.operator_principal for group in context.clients.topology.protection_groups.values()})
    if not found:
        said = f"on {' and '.join(clusters)} only {', '.join(operators)} may write the register"
        unseen = f"; no ACL limits the super users {', '.join(sorted(supers))}, who are not checked" if supers else ""
        return Check(WRITERS, "ok", said + unseen)
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    said = (
        f"{'; '.join(found[:_SHOWN])}{more}. Whoever writes the register decides which cluster is active; expected "
        f"only {', '.join(operators)}. Remove these rights, or deny them on the prefixes {OWN_TOPICS} (topics) and "
        "kafka-dr- (transactional ids)"
    )
    return Check(WRITERS, "failed", said)


def _by_principal(authorizer: Authorizer, wanted: Collection[Guarded], supers: Collection[str]) -> list[str]:
    """Return one sentence for each principal and kind of resource: a wildcard reaches the ids of hundreds of groups."""
    first: dict[tuple[str, ResourceType], Intruder] = {}
    count: dict[tuple[str, ResourceType], int] = {}
    for each in intruders(authorizer, wanted, super_users=supers):
        key = (each.principal, each.guarded.resource)
        first.setdefault(key, each)
        count[key] = count.get(key, 0) + 1
    return [
        f"{one}" + (f" and {count[key] - 1} more such rights" if count[key] > 1 else "") for key, one in first.items()
    ]


def register_topic(context: GroupContext, clusters: Collection[str], *, is_needed: bool = True) -> Check:
    """Return whether the registers' topics are replicated and set so that no acknowledged record is lost.

    :param is_needed: whether it is wrong that there is no such topic
    """
    found = parallel.ask_all(lambda name: _of_topic(context, name, is_needed=is_needed), clusters)
    wrong = [said for wrong, said in found.values() if wrong]
    good = [said for wrong, said in found.values() if not wrong]
    return Check.that(TOPIC, not wrong, "; ".join(wrong or good))


def _of_topic(context: GroupContext, cluster: str, *, is_needed: bool) -> tuple[bool, str]:
    configs = context.operator(cluster).configs
    seen = configs.overview()
    layout = seen.topics.get(REGISTER_TOPIC)
    if layout is None:
        return is_needed, f"{cluster} has no topic {REGISTER_TOPIC}: dr_adopt creates it"
    described = configs.describe([REGISTER_TOPIC])
    if error := described.errors.get(REGISTER_TOPIC):
        raise error
    values: Mapping[str, str | None] = {key: found.value for key, found in described.configs[REGISTER_TOPIC].items()}
    return judged_topic(cluster, values, replicas=layout.replication_factor, brokers=seen.brokers)


def judged_topic(cluster: str, values: Mapping[str, str | None], *, replicas: int, brokers: int) -> tuple[bool, str]:
    """Return whether the register's topic is wrong, and a sentence.

    :param values: its effective configuration
    :param replicas: the fewest replicas that a partition of it has
    :param brokers: how many brokers the cluster has now
    """
    problems = []
    wanted = min(3, brokers)
    if replicas < wanted:
        problems.append(
            f"has {replicas} replicas, expected {wanted} with {brokers} brokers: add replicas with "
            "kafka-reassign-partitions"
        )
    if differing := unlike(values, replicas=replicas):
        shown = ", ".join(f"{key} is {found}, expected {value}" for key, (found, value) in differing.items())
        problems.append(f"{shown}: run dr_adopt again, which sets it")
    if problems:
        return True, f"{REGISTER_TOPIC} on {cluster} {'; it '.join(problems)}"
    few = f"; with {brokers} brokers a single failure can stop or lose it" if brokers < 3 else ""
    return False, f"{REGISTER_TOPIC} on {cluster} has {replicas} replicas and the settings that it needs{few}"
