"""Which DENYs the register's record requires of a cluster. Pure.

active cluster
    applications may write, the replicator may not
every cluster, where copies have other names than their originals
    applications never write to a copy, and the replicator never to another topic
every other cluster
    application writes, transactional ids and group reads are denied; the replicator, too, while nothing may be copied
    to that cluster
a cluster that has left the group
    nothing
the cluster to which another replication has copied, if the group was adopted by a take over
    that replication is denied, too, whatever the roles are now: its owner can start it again at any time

While a group is adopted by a take over, while it is released, and after that, its record requires none of them.
"""

from __future__ import annotations

from kafka_dr.clusters.model import Acl
from kafka_dr.fencing import plan
from kafka_dr.register.roles import Role
from kafka_dr.register.state import Phase, RegisterState
from kafka_dr.topology.model import ProtectionGroup

#: In these phases the steps of a run decide.
_MOVING = frozenset({Phase.SWITCHING, Phase.ADOPTING, Phase.RELEASING})


def denies_of(group: ProtectionGroup, state: RegisterState, cluster: str, *, replaced: bool) -> frozenset[Acl]:
    """Return the DENYs that a cluster must have; it may have others.

    :param replaced: whether the take over by which the group was adopted has replaced replication to this cluster
    """
    if state.phase in (Phase.ADOPTING, Phase.RELEASING, Phase.RELEASED) or cluster in state.gone:
        return frozenset()
    # A topology that names copies otherwise than the adoption changes nothing.
    named = bool(state.copies_named)
    apart = plan.apart(group, cluster) if named else frozenset[Acl]()
    # What arrives late from a cluster that was lost is approved first.
    lost = [name for name in state.standbys if named and name != cluster and is_closed(state, name)]
    late = frozenset[Acl]().union(*(plan.copy_flow_fence(group, name, cluster) for name in lost))
    kept_out = apart | late | (plan.existing_denies(group, cluster) if replaced else frozenset[Acl]())
    if state.roles.of(cluster) is Role.ACTIVE:
        return plan.flow_fence(group.on(cluster)) | kept_out
    closed = plan.flow_fence(group.on(cluster)) if is_closed(state, cluster) else frozenset[Acl]()
    return plan.standby(group.on(cluster)) | closed | kept_out


def is_closed(state: RegisterState, cluster: str) -> bool:
    """Return whether nothing may be copied to a cluster that was active, because no failback has begun yet."""
    role = state.roles.of(cluster)
    fails_back = state.is_failing_back and cluster == state.moved_with
    return role is Role.UNFENCED or (role is Role.DIVERGED and not fails_back)


def required_now(
    group: ProtectionGroup, state: RegisterState | None, cluster: str, *, replaced: bool
) -> frozenset[Acl] | None:
    """Return the DENYs that a cluster must have; ``None`` while a run moves the group and its steps decide.

    :param replaced: see :func:`denies_of`
    """
    if state is None or state.phase in _MOVING:
        return None
    return denies_of(group, state, cluster, replaced=replaced)
