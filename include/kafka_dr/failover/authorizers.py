"""Whether the brokers' authorizers are set as the topology says: who can write is decided by that, beside the ACLs.

Of two settings brokers tell only whether they are set, not to what: the topology has to say it, and is held to what
can be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from kafka_dr.clusters import Acl
from kafka_dr.clusters.broker_settings import BrokerSettings
from kafka_dr.failover.record import Check
from kafka_dr.failover.run import Run
from kafka_dr.fencing.authorizer import Authorizer

ALLOW_EVERYONE, SUPER_USERS = "allow.everyone.if.no.acl.found", "super.users"
NAME = "authorizers_as_declared"

#: What each broker says, by its number; ``None`` for a value that is kept back.
Told = Mapping[int, Mapping[str, str | None]]


def authorizer_of(run: Run, cluster: str, acls: Collection[Acl]) -> Authorizer:
    """Return a cluster's authorizer, as the topology says that it is set."""
    allowed = bool(run.world.topology.cluster(cluster).allow_everyone_if_no_acl)
    return Authorizer(acls, frozenset(run.group.super_users), allow_if_no_acl=allowed)


def authorizers_as_declared(run: Run) -> Check:
    """Ask every broker of both sides what it may tell of its authorizer."""
    both = (run.source, run.target)
    wrong: list[str] = []
    unknown: list[str] = []
    for cluster, told in zip(both, run.at_once(*(partial(_told, run, cluster) for cluster in both)), strict=True):
        declared = run.world.topology.cluster(cluster).allow_everyone_if_no_acl
        wrong += contradictions(cluster, told, declared)
        unknown += unsaid(cluster, told, declared, run.group.super_users)
    outcome = "failed" if wrong else "unknown" if unknown else "ok"
    said = (
        "; ".join((wrong + unknown)[:4]) or f"the brokers of {' and '.join(both)} tell nothing else than the topology"
    )
    return Check(NAME, outcome, said)  # type: ignore[arg-type]


def contradictions(cluster: str, told: Told, declared: bool | None) -> Iterator[str]:
    """Say where a broker lets everybody in, or does not, other than the topology declares."""
    for broker, settings in told.items():
        value = settings.get(ALLOW_EVERYONE, "false")
        if value is not None and (value.strip().lower() == "true") != bool(declared):
            key = "allow_everyone_if_no_acl"
            yield (
                f"{ALLOW_EVERYONE} is {value} on broker {broker} of {cluster}, and the topology says {key}: "
                f"{str(bool(declared)).lower()}: make the two the same"
            )


def unsaid(cluster: str, told: Told, declared: bool | None, super_users: Collection[str]) -> Iterator[str]:
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


def _told(run: Run, cluster: str) -> dict[int, dict[str, str | None]]:
    operator = run.operator(cluster)
    brokers = operator.topics.identity().brokers
    return BrokerSettings.of(operator).read(brokers, (ALLOW_EVERYONE, SUPER_USERS))
