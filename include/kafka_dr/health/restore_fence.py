"""A cluster's DENYs: those that its role asks for are put back, and the brokers are asked whether they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_dr.checks.change_rights import changes_refused
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.clusters import Acl
from kafka_dr.fencing import open_transactions, plan, proof
from kafka_dr.fencing.proof import Finding
from kafka_dr.health.desired_state import denies_of, old_cluster_is_closed
from kafka_dr.register import RegisterState
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.group_context import PROOF_SECONDS, GroupContext
from kafka_dr.runs.record import Check, worst


@dataclass(frozen=True, slots=True)
class FenceRepair:
    """What was found and done on one cluster.

    :param added: how many DENYs were missing
    :param completed: whether all of these are DENYs that a former version did not set
    :param ended: transactional ids whose open transactions were aborted
    """

    cluster: str
    added: int
    completed: bool = False
    ended: tuple[str, ...] = ()
    proofs: tuple[Check, ...] = field(default=())

    @property
    def proven(self) -> bool:
        """Whether every leader refuses writes, and everything else that a fence is."""
        return bool(self.proofs) and worst(self.proofs) == "ok"


def restore_standby_fence(
    context: GroupContext, cluster: str, state: RegisterState, still: Callable[[], None]
) -> FenceRepair:
    """Put back what a cluster that is not active lacks, end what its applications left open, and prove the fence.

    :param still: asked right before each change
    """
    wanted = denies_of(context.group, state, cluster)
    _, probe, changes = plan.standby_in_order(context.group)
    before = context.clients.register(cluster).added_acls(context.group.name, cluster)
    added = context.acl_changes(cluster, still).add(wanted - probe - changes, wanted & probe, wanted & changes)
    completed = bool(added) and added <= changes and not before & changes
    left = old_cluster_is_closed(state)
    # On a side that was left everything has to end; whoever added its DENYs may have come no further.
    ended = end_transactions(context, cluster, still, all_of_them=left) if added - changes or left else ()
    return FenceRepair(cluster, len(added), completed, ended, _proofs(context, cluster, wanted, still_ends=left))


def restore_flow_fence(
    context: GroupContext, cluster: str, state: RegisterState, still: Callable[[], None]
) -> FenceRepair:
    """Put back what keeps flows from writing to the active cluster; its applications are left alone."""
    wanted = denies_of(context.group, state, cluster)
    added = context.acl_changes(cluster, still).add(wanted)
    return FenceRepair(cluster, len(added), proofs=(_denies(context, cluster, wanted),))


def _denies(context: GroupContext, cluster: str, wanted: frozenset[Acl]) -> Check:
    return Check.of("denies", proof.acls_present(context.operator(cluster), wanted, clock=context.clock))


def _proofs(context: GroupContext, cluster: str, wanted: frozenset[Acl], *, still_ends: bool) -> tuple[Check, ...]:
    if not context.partitions(cluster):
        # Where replication has yet to create the topics there is no leader to ask.
        return (_denies(context, cluster, wanted),)
    asked: list[Callable[[], Check]] = [
        lambda: Check.of("writes_refused", context.writes_refused(cluster)),
        lambda: _denies(context, cluster, wanted),
        lambda: Check.of("reads_refused", _reads_refused(context, cluster)),
        lambda: writers_declared(context, (cluster,)),
        lambda: changes_refused(context, cluster),
    ]
    if still_ends:
        asked.append(lambda: Check.of("nothing_open", _nothing_open(context, cluster)))
    return tuple(context.at_once(*asked))


def _reads_refused(context: GroupContext, cluster: str) -> Finding:
    groups = context.consumer_groups(cluster)
    return proof.reads_refused(context.probe(cluster), groups, clock=context.clock, deadline_seconds=PROOF_SECONDS)


def _nothing_open(context: GroupContext, cluster: str) -> Finding:
    """An open transaction could still be committed, behind a fence that every leader upholds."""
    partitions = context.partitions(cluster)
    held = open_transactions.wait_until_stable(
        context.operator(cluster), partitions, clock=context.clock, deadline_seconds=PROOF_SECONDS
    )
    if not held:
        return Finding("ok", f"no transaction is open on {len(partitions)} partitions of {cluster}")
    shown = ", ".join(str(partition) for partition in sorted(held)[:3])
    return Finding("failed", f"open transactions hold back {shown} on {cluster}: they could still be committed")
