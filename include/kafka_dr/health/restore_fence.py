"""A cluster's DENYs: missing ones that the record requires are added, and the brokers have to prove the fence."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kafka_dr import parallel
from kafka_dr.checks.change_rights import changes_refused
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.checks.lasting_denies import note_outlived, removed_twice
from kafka_dr.clusters import Acl
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.fencing.closure import held
from kafka_dr.fencing.required import is_closed
from kafka_dr.outcomes import Check, worst
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.runs.end_transactions import end_transactions
from kafka_dr.runs.group_context import PROOF_SECONDS, GroupContext
from kafka_dr.runs.members import guests_on
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.topology.model import ProtectionGroup


@dataclass(frozen=True, slots=True)
class FenceRepair:
    """What was found and done on one cluster.

    :param added: how many DENYs were missing
    :param lost: how many of them the register had listed as added
    :param new_topics: topics that patterns match and that had no DENY here, if all of the missing DENYs are for them
    :param ended: transactional ids whose open transactions were aborted
    :param removing: a sentence if others remove the DENYs again and again
    """

    cluster: str
    added: int
    new_topics: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    proofs: tuple[Check, ...] = field(default=())
    removing: str = ""
    lost: int = 0

    @property
    def proven(self) -> bool:
        """Whether every leader refuses writes, and every other part of the fence is proven."""
        return bool(self.proofs) and worst(self.proofs) == "ok"


def restore_standby_fence(
    context: GroupContext, cluster: str, state: RegisterState, guard: RegisterGuard, *, decides: str | None = None
) -> FenceRepair:
    """Add the missing DENYs of a cluster that is not active, end its applications' transactions, prove the fence.

    :param guard: asked right before each change
    :param decides: the cluster whose register decides, if that can be read; it keeps what is added here if the register
        of this cluster cannot
    """
    guests = guests_on(context, cluster)
    if guests and not isinstance(guests, KafkaDrError):
        said = f"{cluster} serves {' and '.join(guests)}, so it stays open: move these clients, and it is closed then"
        return FenceRepair(cluster, 0, proofs=(Check("standby_refuses", "failed", said),))
    stages = context.standby_fence_in_order(state, cluster)
    wanted, changes = frozenset[Acl]().union(*stages), stages[-1]
    added, before, removing = _added(context, cluster, state, guard, *stages, decides=decides)
    closed = is_closed(state, cluster)
    # On the old cluster every transaction has to end: a process that added its DENYs may have died before that.
    theirs = context.declared.closes(cluster)
    ends = theirs and (closed or bool(added - changes))
    ended = end_transactions(context, cluster, guard, all_of_them=closed) if ends else ()
    proofs = _proofs(context, cluster, wanted, transactions_too=closed and theirs)
    fresh = new_topics(context.group, added, before)
    return FenceRepair(cluster, len(added), fresh, ended, proofs, removing, len(held(added, before)))


#: The register of the new active cluster decides in these phases: no failover back can have begun without it.
_KNOWN_WITHOUT = frozenset({Phase.HANDED_OVER, Phase.UNFENCED, Phase.DIVERGED})


def doubt_without_its_register(context: GroupContext, cluster: str, state: RegisterState) -> str:
    """Return why a cluster must not be fenced while its own register cannot be read; empty if it may.

    An unplanned failover takes a stable group by the register of its target alone, and then opens that. So the record
    of the other cluster may be old. What shows that this cluster was not opened is a DENY of its fence in force.
    """
    group = context.group.on(cluster)
    # What is lifted first: writers may wait for readers.
    fence = plan.group_freeze(group) if group.flow.writes_wait_seconds else plan.write_fence(group)
    # Of several standbys one that holds the copy could be opened without it all the same.
    decided = state.phase in _KNOWN_WITHOUT and cluster not in state.roles.copies
    known = state.roles.of(cluster) is Role.ACTIVE or decided
    if known or held(fence, context.rules_in_force(cluster)):
        return ""
    return (
        f"{cluster} has no DENY of a standby, and its register has no record that could be read, so it is not known "
        "whether a failover has opened it: nothing was added. See what is wrong with that register"
    )


def restore_flow_fence(
    context: GroupContext, cluster: str, state: RegisterState, guard: RegisterGuard, *, decides: str | None = None
) -> FenceRepair:
    """Add the missing DENYs that keep flows from writing to the active cluster; applications are not affected.

    :param decides: of no use here: the active cluster's own register decides, and has to take what is added
    """
    wanted = context.required_denies(state, cluster)
    added, before, removing = _added(context, cluster, state, guard, wanted)
    fresh, proofs = new_topics(context.group, added, before), (_denies(context, cluster, wanted),)
    lost = len(held(added, before))
    return FenceRepair(cluster, len(added), new_topics=fresh, proofs=proofs, removing=removing, lost=lost)


def _added(
    context: GroupContext,
    cluster: str,
    state: RegisterState,
    guard: RegisterGuard,
    *stages: frozenset[Acl],
    decides: str | None = None,
) -> tuple[frozenset[Acl], frozenset[Acl], str]:
    """Add what is missing.

    :returns: what was missing, what was recorded before, and a sentence if others remove DENYs again and again
    """
    unusable = decides is not None and bool(context.clients.register(cluster).problem())
    changes = context.acl_changes(cluster, guard, kept_by=decides if unusable else None)
    missing = changes.missing(*stages)
    if not missing:
        if not unusable:
            note_outlived(context, cluster)
        return missing, missing, ""
    before, now = changes.kept.read().current, context.clock.now()
    # While a run moves the group, or after it has died, it may not have added them yet.
    settled = state.is_at_rest and not state.is_held and not is_closed(state, cluster)
    if settled and held(missing, before):
        changes.kept.change(lambda found: found.found_removed(now))
    added = changes.add(*stages)
    spec = context.clients.topology.cluster(cluster).access_rules
    return added, before, removed_twice(cluster, spec, changes.kept.known().lasting, now)


def new_topics(group: ProtectionGroup, added: Collection[Acl], before: Collection[Acl]) -> tuple[str, ...]:
    """Return the topics that a pattern has come to match, if all DENYs that were missing are for them. Pure.

    :param added: what was missing
    :param before: what this project had added before
    """
    known = {acl.name for acl in before}
    fresh = {acl.name for acl in added if acl.name in group.matched_topics and acl.name not in known}
    return tuple(sorted(fresh)) if all(acl.name in fresh for acl in added) else ()


def _denies(context: GroupContext, cluster: str, wanted: frozenset[Acl]) -> Check:
    return context.denies_present(cluster, wanted).named("denies")


def _proofs(
    context: GroupContext, cluster: str, wanted: frozenset[Acl], *, transactions_too: bool
) -> tuple[Check, ...]:
    if not context.partitions(cluster):
        # Replication has not created the topics yet, so no leader can be asked.
        return (context.shut(cluster, wanted).named("denies"),)
    asked: list[Callable[[], Check]] = [
        lambda: context.writes_refused(cluster),
        lambda: _denies(context, cluster, wanted),
        lambda: context.reads_refused(cluster, context.consumer_groups(cluster)),
        lambda: writers_declared(context, (cluster,)),
        lambda: changes_refused(context, cluster),
    ]
    if transactions_too:
        asked.append(lambda: _no_open_transaction(context, cluster))
    return tuple(parallel.at_once(*asked))


def _no_open_transaction(context: GroupContext, cluster: str) -> Check:
    """Prove that no transaction is open: it could still be committed although every leader refuses writes."""
    partitions = context.partitions(cluster)
    held = open_transactions.wait_until_stable(
        context.operator(cluster), partitions, clock=context.clock, deadline_seconds=PROOF_SECONDS
    ).held_back
    if not held:
        many = counted(len(partitions), "partition")
        return Check("nothing_open", "ok", f"no transaction is open on {many} of {cluster}")
    shown = ", ".join(str(partition) for partition in sorted(held)[:3])
    said = (
        f"open transactions on {cluster} hold back the last stable offset of {shown}: they could still be committed; "
        "find out which transactional ids hold them, and stop their producers"
    )
    return Check("nothing_open", "failed", said)
