"""Whether the brokers' authorizers are set as the topology declares: with the ACLs, they decide who can write.

Only Kafka's own authorizers decide by the ACLs alone, and by the rule that this project simulates. Another one may
allow what a DENY forbids, so no group is moved from or to a cluster that uses one.

Brokers hide the value of two settings and show only whether they are set. The topology has to declare the value, and is
compared with what the brokers show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import Acl
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run

ALLOW_EVERYONE, SUPER_USERS = "allow.everyone.if.no.acl.found", "super.users"
AUTHORIZER = "authorizer.class.name"
NAME = "authorizers_as_declared"
#: Those that decide by ACLs alone, by their name in the topology: with KRaft, and with ZooKeeper.
KAFKAS_OWN: Mapping[str, str] = {
    "StandardAuthorizer": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "AclAuthorizer": "kafka.security.authorizer.AclAuthorizer",
}

#: The settings of each broker, by its number; ``None`` for a value that the broker hides.
BrokerAnswers = Mapping[int, Mapping[str, str | None]]


def authorizer_of(context: GroupContext, cluster: str, acls: Collection[Acl]) -> Authorizer:
    """Return a cluster's authorizer with its ACLs, set as the topology declares."""
    allowed = bool(context.clients.topology.cluster(cluster).allow_everyone_if_no_acl)
    return Authorizer(acls, frozenset(context.group.super_users), allow_if_no_acl=allowed)


def not_by_acls(context: GroupContext, clusters: Collection[str], what: str) -> str:
    """Say what cannot be known from ACLs, as these do not decide on some of the clusters; empty if they decide on all.

    :param what: what cannot be known, as it continues "so it is not known …"
    """
    names = " and ".join(name for name in clusters if not context.decides_by_acls(name))
    return f"ACLs do not decide on {names}, so it is not known {what}: see its own rules" if names else ""


def authorizers_as_declared(context: GroupContext, clusters: Sequence[str]) -> Check:
    """Compare what every broker shows of its authorizer with the topology."""
    undecided = not_by_acls(context, clusters, "by which authorizer it refuses; refused writes prove each fence")
    clusters = [name for name in clusters if context.decides_by_acls(name)]
    wrong: list[str] = []
    unknown: list[str] = []
    for cluster, shown in parallel.ask_all(partial(_shown, context), clusters).items():
        declared = context.clients.topology.cluster(cluster)
        wrong += wrong_authorizers(cluster, shown, declared.authorizer)
        wrong += contradictions(cluster, shown, declared.allow_everyone_if_no_acl)
        unknown += undeclared_authorizers(cluster, shown, declared.authorizer)
        unknown += undeclared_settings(cluster, shown, declared.allow_everyone_if_no_acl, context.group.super_users)
    outcome = "failed" if wrong else "unknown" if unknown else "excused" if undecided else "ok"
    said = "; ".join((wrong + unknown)[:4]) or undecided
    said = said or f"the authorizers on {' and '.join(clusters)} are set as the topology declares"
    return Check(NAME, outcome, said)  # type: ignore[arg-type]


def authorizer_is_kafkas(run: Run, cluster: str) -> Check:
    """Check whether a cluster decides by ACLs, when there is no time to ask more.

    If a cluster does not show its authorizer and the topology does not declare it, that is excused: the fence is proven
    by refused writes, and a disaster should not wait for a line in the topology.
    """
    if undecided := not_by_acls(run, (cluster,), "by which authorizer it refuses; refused writes prove each fence"):
        return Check(NAME, "excused", undecided)
    shown, declared = _shown(run, cluster), run.clients.topology.cluster(cluster).authorizer
    if wrong := "; ".join(wrong_authorizers(cluster, shown, declared)):
        return Check(NAME, "failed", wrong)
    if unknown := "; ".join(undeclared_authorizers(cluster, shown, declared)):
        return Check(NAME, "excused", unknown)
    return Check(NAME, "ok", f"the brokers of {cluster} decide by ACLs")


def wrong_authorizers(cluster: str, shown: BrokerAnswers, declared: str | None) -> Iterator[str]:
    """Name each broker whose authorizer does not decide by ACLs alone, or is not the declared one."""
    for broker, settings in shown.items():
        found = settings.get(AUTHORIZER)
        if found is None:
            continue
        if found not in KAFKAS_OWN.values():
            what = f"is {found}" if found else "is not set"
            yield (
                f"{AUTHORIZER} {what} on broker {broker} of {cluster}: only {' and '.join(KAFKAS_OWN)} are known to "
                f"decide by ACLs, so no DENY on {cluster} would be a reliable fence; set one of the two"
            )
        elif declared is not None and found != KAFKAS_OWN[declared]:
            yield (
                f"{AUTHORIZER} is {found} on broker {broker} of {cluster}, but the topology says authorizer: "
                f"{declared}: make the two the same"
            )


def undeclared_authorizers(cluster: str, shown: BrokerAnswers, declared: str | None) -> Iterator[str]:
    """Name a broker that does not show its authorizer, if the topology does not declare it either."""
    hiding = [broker for broker, settings in shown.items() if settings.get(AUTHORIZER) is None]
    if hiding and declared is None:
        yield (
            f"broker {hiding[0]} of {cluster} does not show {AUTHORIZER}: find out which one it uses, and declare "
            f"authorizer ({' or '.join(KAFKAS_OWN)}) for {cluster} in the topology"
        )


def contradictions(cluster: str, shown: BrokerAnswers, declared: bool | None) -> Iterator[str]:
    """Name each broker whose rule for resources without an ACL differs from the topology."""
    for broker, settings in shown.items():
        value = settings.get(ALLOW_EVERYONE, "false")
        if value is not None and (value.strip().lower() == "true") != bool(declared):
            key = "allow_everyone_if_no_acl"
            yield (
                f"{ALLOW_EVERYONE} is {value} on broker {broker} of {cluster}, but the topology says {key}: "
                f"{str(bool(declared)).lower()}: make the two the same"
            )


def undeclared_settings(
    cluster: str, shown: BrokerAnswers, declared: bool | None, super_users: Collection[str]
) -> Iterator[str]:
    """Name each setting whose value a broker hides and the topology does not declare."""
    hidden = {
        key: [b for b, found in shown.items() if found.get(key, "") is None] for key in (ALLOW_EVERYONE, SUPER_USERS)
    }
    if declared is None and (brokers := hidden[ALLOW_EVERYONE]):
        yield (
            f"broker {brokers[0]} of {cluster} sets {ALLOW_EVERYONE} and hides its value: declare "
            f"allow_everyone_if_no_acl for {cluster} in the topology"
        )
    if not super_users and (brokers := hidden[SUPER_USERS]):
        yield (
            f"broker {brokers[0]} of {cluster} sets {SUPER_USERS} and hides its value: declare super_users of the "
            "group in the topology"
        )


def _shown(context: GroupContext, cluster: str) -> dict[int, dict[str, str | None]]:
    operator = context.operator(cluster)
    brokers = operator.topics.identity().brokers
    return operator.broker_settings.read(brokers, (ALLOW_EVERYONE, SUPER_USERS, AUTHORIZER))
