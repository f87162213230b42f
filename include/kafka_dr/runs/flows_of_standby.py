"""Which flows could write to a standby, or from it to the active cluster, and which of all may run, and have to. Pure.

Flows run only from the active cluster to the standby; none while the old cluster may hold records that the active one
lacks. Where copies have names of their own, flows run between all clusters that no run has given up.
"""

from __future__ import annotations

from kafka_dr.fencing.required import is_closed
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow


def flows_of(state: RegisterState, standby: str) -> tuple[Flow, ...]:
    """Return the flows that concern a standby: those to it, and the one from it to the active cluster.

    Those of all standbys together are all flows between clusters of the group.
    """
    sources = (state.active, *(name for name in state.standbys if name != standby))
    into = (Flow(state.group, source, standby) for source in sources)
    return (*into, Flow(state.group, standby, state.active))


def may_run(state: RegisterState, flow: Flow, *, both_ways: bool = False) -> bool:
    """Return whether the register allows a flow to run; an allowed flow may also be stopped.

    :param both_ways: whether copies have names of their own, so that flows run from each cluster to each other one

    A run that has handed over stops the flows from the old cluster to further standbys: until it has, they may run.
    """
    roles = state.roles
    if both_ways:
        ends = {flow.source, flow.target} & set(roles.clusters)
        return flow.group == state.group and len(ends) == 2 and not any(is_closed(state, end) for end in ends)
    if state.phase is Phase.HANDED_OVER and flow.group == state.group and flow.source == state.standby:
        return flow.target in state.standbys
    to_standby = roles.of(flow.source) is Role.ACTIVE and flow.target in roles.standbys
    return flow.group == state.group and to_standby and not is_closed(state, flow.target)


def must_run(state: RegisterState, flow: Flow, *, both_ways: bool = False) -> bool:
    """Return whether a flow has to run: ``dr_flows`` starts that of a standby that waits for one.

    :param both_ways: see :func:`may_run`
    """
    steady = set(state.steady_copies)
    needed = {flow.source, flow.target} - {state.active} if both_ways else {flow.target}
    return needed <= steady and may_run(state, flow, both_ways=both_ways)
