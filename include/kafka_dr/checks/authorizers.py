"""Whether the brokers' authorizers are set as the topology says: who can write is decided by that, beside the ACLs.

Only Kafka's own authorizers decide by the ACLs alone, and by the rule that is simulated here. Another one may let
somebody in whom a DENY names, so nothing is moved over a cluster that uses one.

Of two settings brokers tell only whether they are set, not to what: the topology has to say it, and is held to what
can be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from kafka_dr.clusters import Acl
from kafka_dr.clusters.broker_settings import BrokerSettings
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

ALLOW_EVERYONE, SUPER_USERS = "allow.everyone.if.no.acl.found", "super.users"
AUTHORIZER = "authorizer.class.name"
NAME = "authorizers_as_declared"
#: Those that decide by ACLs alone, by their name in the topology: with KRaft, and with ZooKeeper.
KAFKAS_OWN: Mapping[str, str] = {
    "StandardAuthorizer": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "AclAuthorizer": "kafka.security.authorizer.AclAuthorizer",
}

#: What each broker says, by its number; ``None`` for a value that is kept back.
BrokerAnswers = Mapping[int, Mapping[str, str | None]]


def authorizer_of(context: GroupContext, cluster: str, acls: Collection[Acl]) -> Authorizer:
    """Return a cluster's authorizer, as the topology says that it is set."""
    allowed = bool(context.clients.topology.cluster(cluster).allow_everyone_if_no_acl)
    return Authorizer(acls, frozenset(context.group.super_users), allow_if_no_acl=allowed)


def authorizers_as_declared(context: GroupContext, clusters: Sequence[str]) -> Check:
    """Ask every broker of the clusters what it may tell of its authorizer."""
    wrong: list[str] = []
    unknown: list[str] = []
    for cluster, told in zip(
        clusters, context.at_once(*(partial(_told, context, name) for name in clusters)), strict=True
    ):
        declared = context.clients.topology.cluster(cluster)
        wrong += strangers(cluster, told, declared.authorizer)
        wrong += contradictions(cluster, told, declared.allow_everyone_if_no_acl)
        unknown += nameless(cluster, told, declared.authorizer)
        unknown += unsaid(cluster, told, declared.allow_everyone_if_no_acl, context.group.super_users)
    outcome = "failed" if wrong else "unknown" if unknown else "ok"
    said = "; ".join((wrong + unknown)[:4])
    said = said or f"the brokers of {' and '.join(clusters)} tell nothing else than the topology"
    return Check(NAME, outcome, said)  # type: ignore[arg-type]


def authorizer_is_kafkas(run: Run, cluster: str) -> Check:
    """Ask whether a cluster decides by ACLs, where there is no time to ask more.

    A cluster that does not show its authorizer, which nobody declared either, is excused: the fence is proven by
    refused writes, and nobody should wait in a disaster for a line in the topology.
    """
    told, declared = _told(run, cluster), run.clients.topology.cluster(cluster).authorizer
    if wrong := "; ".join(strangers(cluster, told, declared)):
        return Check(NAME, "failed", wrong)
    if unknown := "; ".join(nameless(cluster, told, declared)):
        return Check(NAME, "excused", unknown)
    return Check(NAME, "ok", f"the brokers of {cluster} decide by ACLs")


def strangers(cluster: str, told: BrokerAnswers, declared: str | None) -> Iterator[str]:
    """Say which broker shows an authorizer that does not decide by ACLs alone, or another one than is declared."""
    for broker, settings in told.items():
        shown = settings.get(AUTHORIZER)
        if shown is None:
            continue
        if shown not in KAFKAS_OWN.values():
            what = f"is {shown}" if shown else "is not set"
            yield (
                f"{AUTHORIZER} {what} on broker {broker} of {cluster}: only {' and '.join(KAFKAS_OWN)} are known to "
                "decide by ACLs, so no DENY could be relied on as a fence there; set one of the two"
            )
        elif declared is not None and shown != KAFKAS_OWN[declared]:
            yield (
                f"{AUTHORIZER} is {shown} on broker {broker} of {cluster}, and the topology says authorizer: "
                f"{declared}: make the two the same"
            )


def nameless(cluster: str, told: BrokerAnswers, declared: str | None) -> Iterator[str]:
    """Say that brokers do not show which authorizer they use, and the topology does not name it."""
    hiding = [broker for broker, settings in told.items() if settings.get(AUTHORIZER) is None]
    if hiding and declared is None:
        yield (
            f"broker {hiding[0]} of {cluster} does not show {AUTHORIZER}: find out which one it is, and write "
            f"authorizer ({' or '.join(KAFKAS_OWN)}) for {cluster} into the topology"
        )


def contradictions(cluster: str, told: BrokerAnswers, declared: bool | None) -> Iterator[str]:
    """Say where a broker lets everybody in, or does not, other than the topology declares."""
    for broker, settings in told.items():
        value = settings.get(ALLOW_EVERYONE, "false")
        if value is not None and (value.strip().lower() == "true") != bool(declared):
            key = "allow_everyone_if_no_acl"
            yield (
                f"{ALLOW_EVERYONE} is {value} on broker {broker} of {cluster}, and the topology says {key}: "
                f"{str(bool(declared)).lower()}: make the two the same"
            )


def unsaid(cluster: str, told: BrokerAnswers, declared: bool | None, super_users: Collection[str]) -> Iterator[str]:
    """Say what brokers have set and keep back, and the topology does not name."""
    hidden = {
        key: [b for b, found in told.items() if found.get(key, "") is None] for key in (ALLOW_EVERYONE, SUPER_USERS)
    }
    if declared is None and (brokers := hidden[ALLOW_EVERYONE]):
        yield (
            f"broker {brokers[0]} of {cluster} sets {ALLOW_EVERYONE} and tells nobody to what: write "
            f"allow_everyone_if_no_acl for {cluster} into the topology"
        )
    if not super_users and (brokers := hidden[SUPER_USERS]):
        yield (
            f"broker {brokers[0]} of {cluster} sets {SUPER_USERS} and tells nobody to whom: write super_users of the "
            "group into the topology"
        )


def _told(context: GroupContext, cluster: str) -> dict[int, dict[str, str | None]]:
    operator = context.operator(cluster)
    brokers = operator.topics.identity().brokers
    return BrokerSettings.of(operator).read(brokers, (ALLOW_EVERYONE, SUPER_USERS, AUTHORIZER))
