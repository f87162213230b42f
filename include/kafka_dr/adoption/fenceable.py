"""Whether a group's clusters can be fenced, and stay fenced: asked before an adoption, and before a take over.

The write fence is made of DENYs. Where none can be added, proven, or kept, no failover would be safe, and the old
replication of a take over could write again. So such a flow can only be observed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kafka_dr.checks.lasting_denies import denies_last, witness_lasts
from kafka_dr.durations import duration
from kafka_dr.errors import Refused
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs.group_context import GroupContext

CAN_BE_ADDED = "denies_can_be_added"
CAN_BE_PROVEN = "fences_can_be_proven"
_ONLY_OBSERVED = "this flow can only be observed: declare it under observed_flows"


def denies_can_be_added(context: GroupContext, clusters: Sequence[str]) -> Check:
    """Return whether the operator may change ACLs wherever this project has to change them itself."""
    direct = [name for name in clusters if context.clients.topology.cluster(name).access_rules.is_direct]
    without = [name for name in direct if not context.operator(name).acls.may_change()]
    who = context.group.operator_principal
    if not without:
        said = f"{who} may add DENYs on {' and '.join(direct)}" if direct else "others apply the access rules"
        return Check(CAN_BE_ADDED, "ok", said)
    return Check(
        CAN_BE_ADDED,
        "failed",
        f"{who} lacks ALTER on the cluster {' and '.join(without)}, so no DENY can be added there and no failover can "
        "be fenced: grant it, or declare in access_rules where the rules of that cluster are kept. With neither, "
        f"{_ONLY_OBSERVED}",
    )


def fences_can_be_proven(context: GroupContext, clusters: Sequence[str]) -> Check:
    """Return whether each principal can be asked for itself where ACLs do not decide."""
    problems, principals = [], context.group.principals
    for name in (each for each in clusters if not context.decides_by_acls(each)):
        connections = context.clients.topology.cluster(name).access_rules.principal_connections
        if missing := [who for who in principals if who not in connections]:
            problems.append(
                f"{', '.join(missing)} has no connection on {name}, where only its own refused writes prove that it is "
                "fenced: add principal_connections to access_rules"
            )
        if not context.partitions(name):
            problems.append(f"{name} has none of the topics, so no leader can be asked there: create them first")
    if problems:
        return Check(CAN_BE_PROVEN, "failed", f"{'; '.join(problems)}. Without that, {_ONLY_OBSERVED}")
    return Check(CAN_BE_PROVEN, "ok", f"every fence of {context.group.name} can be proven on {' and '.join(clusters)}")


def lasting_on(cluster: str) -> str:
    """Return the name of the check whether DENYs last on a cluster."""
    return f"denies_last_on_{cluster}"


def known_to_last(context: GroupContext, cluster: str) -> Check:
    """Return whether DENYs of a group that is not adopted last on a cluster, as its register knows it."""
    found = denies_last(context, (cluster,))
    if found.outcome == "unknown":
        said = (
            f"nobody has seen yet whether a DENY of this project outlasts a comparison of all rules on {cluster}: that "
            "is tried when nothing else is in the way"
        )
        found = replace(found, detail=said)
    return _judged(found, cluster)


def seen_to_last(
    context: GroupContext, cluster: str, standing: RegisterState | None, *, also: Collection[str] = ()
) -> Check:
    """Return the same; where it is unknown, add a DENY that stops nobody, look whether it lasts, and lift it.

    The cluster's register has to exist.

    :param standing: the record that the registers hold; ``None``: there is none
    :param also: principals whose DENYs have to last, next to those of the group's own
    :raises KafkaDrError: the DENY could not be added or lifted
    """

    def permission() -> RegisterState | None:
        if (found := context.read_register_state()) != standing:
            raise Refused(f"{context.group.name} was adopted by another process meanwhile: run dr_adopt again")
        return found

    found = denies_last(context, (cluster,))
    if found.outcome == "unknown":
        changes = context.acl_changes_by(cluster, permission, required=frozenset)
        found = witness_lasts(context, cluster, changes, also=also)
    return _judged(found, cluster)


def witness_intent(context: GroupContext) -> Iterator[str]:
    """Say what is done to see whether DENYs last."""
    for name in context.group.clusters:
        spec = context.clients.topology.cluster(name).access_rules
        if spec.reconciles_every_seconds:
            yield (
                f"write a DENY that stops nobody to {spec.where}, see whether {name} still has it after "
                f"{duration(spec.reconciles_every_seconds)}, and lift it"
            )


def _judged(found: Check, cluster: str) -> Check:
    if found.outcome == "failed":
        found = replace(found, detail=f"{found.detail}. Until DENYs last there, {_ONLY_OBSERVED}")
    return found.named(lasting_on(cluster))
