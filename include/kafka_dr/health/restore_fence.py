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
from kafka_dr.runs.group_context import PROOF_SECONDS
from kafka_dr.runs.record import Check, worst
from kafka_dr.runs.run import Run


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


def restore_standby_fence(run: Run, cluster: str, state: RegisterState, still: Callable[[], None]) -> FenceRepair:
    """Put back what a cluster that is not active lacks, end what its applications left open, and prove the fence.

    :param still: asked right before each change
    """
    wanted = denies_of(run.group, state, cluster)
    _, probe, changes = plan.standby_in_order(run.group)
    before = run.clients.register(cluster).added_acls(run.group.name, cluster)
    added = run.acl_changes(cluster, still).add(wanted - probe - changes, wanted & probe, wanted & changes)
    completed = bool(added) and added <= changes and not before & changes
    left = old_cluster_is_closed(state)
    # On a side that was left everything has to end; whoever added its DENYs may have come no further.
    ended = end_transactions(run, cluster, still, all_of_them=left) if added - changes or left else ()
    return FenceRepair(cluster, len(added), completed, ended, _proofs(run, cluster, wanted, still_ends=left))


def restore_flow_fence(run: Run, cluster: str, state: RegisterState, still: Callable[[], None]) -> FenceRepair:
    """Put back what keeps flows from writing to the active cluster; its applications are left alone."""
    wanted = denies_of(run.group, state, cluster)
    added = run.acl_changes(cluster, still).add(wanted)
    return FenceRepair(cluster, len(added), proofs=(_denies(run, cluster, wanted),))


def _denies(run: Run, cluster: str, wanted: frozenset[Acl]) -> Check:
    return Check.of("denies", proof.acls_present(run.operator(cluster), wanted, clock=run.clock))


def _proofs(run: Run, cluster: str, wanted: frozenset[Acl], *, still_ends: bool) -> tuple[Check, ...]:
    if not run.partitions(cluster):
        # Where replication has yet to create the topics there is no leader to ask.
        return (_denies(run, cluster, wanted),)
    asked: list[Callable[[], Check]] = [
        lambda: Check.of("writes_refused", run.writes_refused(cluster)),
        lambda: _denies(run, cluster, wanted),
        lambda: Check.of("reads_refused", _reads_refused(run, cluster)),
        lambda: writers_declared(run, (cluster,)),
        lambda: changes_refused(run, cluster),
    ]
    if still_ends:
        asked.append(lambda: Check.of("nothing_open", _nothing_open(run, cluster)))
    return tuple(run.at_once(*asked))


def _reads_refused(run: Run, cluster: str) -> Finding:
    groups = run.consumer_groups(cluster)
    return proof.reads_refused(run.probe(cluster), groups, clock=run.clock, deadline_seconds=PROOF_SECONDS)


def _nothing_open(run: Run, cluster: str) -> Finding:
    """An open transaction could still be committed, behind a fence that every leader upholds."""
    partitions = run.partitions(cluster)
    held = open_transactions.wait_until_stable(
        run.operator(cluster), partitions, clock=run.clock, deadline_seconds=PROOF_SECONDS
    )
    if not held:
        return Finding("ok", f"no transaction is open on {len(partitions)} partitions of {cluster}")
    shown = ", ".join(str(partition) for partition in sorted(held)[:3])
    return Finding("failed", f"open transactions hold back {shown} on {cluster}: they could still be committed")
