"""A cluster's DENYs: missing ones that the record requires are added, and the brokers have to prove the fence."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kafka_dr import parallel
from kafka_dr.checks.change_rights import changes_refused
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.clusters import Acl
from kafka_dr.fencing import open_transactions, plan, proof
from kafka_dr.fencing.required import denies_of, old_cluster_is_closed
from kafka_dr.outcomes import Check, worst
from kafka_dr.register import RegisterState
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.group_context import PROOF_SECONDS, GroupContext
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.topology import ProtectionGroup


@dataclass(frozen=True, slots=True)
class FenceRepair:
    """What was found and done on one cluster.

    :param added: how many DENYs were missing
    :param completed: whether all of the missing DENYs are of a kind that a former version did not add
    :param new_topics: topics that patterns match and that had no DENY here, if all of the missing DENYs are for them
    :param ended: transactional ids whose open transactions were aborted
    """

    cluster: str
    added: int
    completed: bool = False
    new_topics: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    proofs: tuple[Check, ...] = field(default=())

    @property
    def proven(self) -> bool:
        """Whether every leader refuses writes, and every other part of the fence is proven."""
        return bool(self.proofs) and worst(self.proofs) == "ok"


def restore_standby_fence(
    context: GroupContext, cluster: str, state: RegisterState, guard: RegisterGuard
) -> FenceRepair:
    """Add the missing DENYs of a cluster that is not active, end its applications' transactions, prove the fence.

    :param guard: asked right before each change
    """
    _, probe, changes = plan.standby_in_order(context.group)
    before = context.clients.register(cluster).added_acls(context.group.name, cluster).current
    wanted = denies_of(context.group, state, cluster) | of_existing(context.group, before)
    added = context.acl_changes(cluster, guard).add(wanted - probe - changes, wanted & probe, wanted & changes)
    completed = bool(added) and added <= changes and not before & changes
    closed = old_cluster_is_closed(state)
    # On the old cluster every transaction has to end: a process that added its DENYs may have died before that.
    ended = end_transactions(context, cluster, guard, all_of_them=closed) if added - changes or closed else ()
    proofs = _proofs(context, cluster, wanted, transactions_too=closed)
    return FenceRepair(cluster, len(added), completed, new_topics(context.group, added, before), ended, proofs)


def restore_flow_fence(context: GroupContext, cluster: str, state: RegisterState, guard: RegisterGuard) -> FenceRepair:
    """Add the missing DENYs that keep flows from writing to the active cluster; applications are not affected."""
    before = context.clients.register(cluster).added_acls(context.group.name, cluster).current
    wanted = denies_of(context.group, state, cluster) | of_existing(context.group, before)
    added = context.acl_changes(cluster, guard).add(wanted)
    fresh = new_topics(context.group, added, before)
    return FenceRepair(cluster, len(added), new_topics=fresh, proofs=(_denies(context, cluster, wanted),))


def new_topics(group: ProtectionGroup, added: Collection[Acl], before: Collection[Acl]) -> tuple[str, ...]:
    """Return the topics that a pattern has come to match, if all DENYs that were missing are for them. Pure.

    :param added: what was missing
    :param before: what this project had added before
    """
    known = {acl.name for acl in before}
    fresh = {acl.name for acl in added if acl.name in group.matched_topics and acl.name not in known}
    return tuple(sorted(fresh)) if all(acl.name in fresh for acl in added) else ()


def of_existing(group: ProtectionGroup, before: Collection[Acl]) -> frozenset[Acl]:
    """Return the DENYs that keep the replication out that a take over has replaced, where there was one. Pure.

    A topic that a pattern has come to match since then needs them, too.

    :param before: what this project had added before
    """
    kinds = (plan.existing_fence(group), plan.existing_change_fence(group))
    return frozenset().union(*(kind for kind in kinds if not kind.isdisjoint(before)))


def _denies(context: GroupContext, cluster: str, wanted: frozenset[Acl]) -> Check:
    return proof.acls_present(context.operator(cluster), wanted, clock=context.clock).named("denies")


def _proofs(
    context: GroupContext, cluster: str, wanted: frozenset[Acl], *, transactions_too: bool
) -> tuple[Check, ...]:
    if not context.partitions(cluster):
        # Replication has not created the topics yet, so no leader can be asked.
        return (_denies(context, cluster, wanted),)
    asked: list[Callable[[], Check]] = [
        lambda: context.writes_refused(cluster),
        lambda: _denies(context, cluster, wanted),
        lambda: _reads_refused(context, cluster),
        lambda: writers_declared(context, (cluster,)),
        lambda: changes_refused(context, cluster),
    ]
    if transactions_too:
        asked.append(lambda: _no_open_transaction(context, cluster))
    return tuple(parallel.at_once(*asked))


def _reads_refused(context: GroupContext, cluster: str) -> Check:
    groups = context.consumer_groups(cluster)
    return proof.reads_refused(context.probe(cluster), groups, clock=context.clock, deadline_seconds=PROOF_SECONDS)


def _no_open_transaction(context: GroupContext, cluster: str) -> Check:
    """Prove that no transaction is open: it could still be committed although every leader refuses writes."""
    partitions = context.partitions(cluster)
    held = open_transactions.wait_until_stable(
        context.operator(cluster), partitions, clock=context.clock, deadline_seconds=PROOF_SECONDS
    )
    if not held:
        return Check("nothing_open", "ok", f"no transaction is open on {len(partitions)} partitions of {cluster}")
    shown = ", ".join(str(partition) for partition in sorted(held)[:3])
    said = (
        f"open transactions on {cluster} hold back the last stable offset of {shown}: they could still be committed; "
        "find out which transactional ids hold them, and stop their producers"
    )
    return Check("nothing_open", "failed", said)
