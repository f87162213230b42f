"""What the register's record means for each cluster and each flow. Pure.

active
    applications allowed, replicator denied
every other cluster
    application writes, transactional ids and group reads denied; the replicator, too, while nothing may be copied there
flows
    only from the active cluster to the standby; none at all while the side that was left may hold records of its own
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.clusters import Acl
from kafka_dr.fencing import plan
from kafka_dr.register import Phase, RegisterState
from kafka_dr.replication import Flow
from kafka_dr.topology import ProtectionGroup

#: Nobody is on the way from one cluster to the other: what does not follow the record is wrong.
SETTLED = frozenset({Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED})


def denies_of(group: ProtectionGroup, state: RegisterState, cluster: str) -> frozenset[Acl]:
    """Return the DENYs that have to stand on a cluster, whatever else does."""
    if cluster == state.active:
        return plan.flow_fence(group)
    return plan.standby(group) | (plan.flow_fence(group) if old_cluster_is_closed(state) else frozenset())


def old_cluster_is_closed(state: RegisterState) -> bool:
    """Return whether nothing may be copied to the side that was left, because no failback has begun yet."""
    return state.phase is Phase.UNFENCED or (state.phase is Phase.DIVERGED and state.verb != "failback")


def may_run(state: RegisterState, flow: Flow) -> bool:
    """Return whether the register's direction allows a flow; that it allows it does not mean that it has to run."""
    return flow == Flow(state.group, state.active, state.standby) and not old_cluster_is_closed(state)


def must_run(state: RegisterState, flow: Flow) -> bool:
    """Return whether a flow has to run."""
    return state.phase is Phase.STABLE and may_run(state, flow)


def stale_registers(state: RegisterState, states: Mapping[str, RegisterState | None]) -> tuple[str, ...]:
    """Return the clusters whose register is behind and may be brought up.

    Between two switches only, and once the side that was left is fenced: the record that says so belongs there, too.

    :param states: by cluster that answers
    """
    if state.phase not in (Phase.STABLE, Phase.DIVERGED):
        return ()
    return tuple(sorted(name for name, found in states.items() if found is None or found.order < state.order))
