"""What the register record requires of each flow and each register. Pure.

Flows run only from the active cluster to the standby; none while the old cluster may hold records that the active one
lacks. Where copies have names of their own, the flow from the standby runs as well. What the record requires of each
cluster's ACLs: see :mod:`kafka_dr.fencing.required`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_dr.fencing.required import is_closed
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow

#: No run moves the group: whatever does not match the record is wrong.
SETTLED = frozenset({Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED})


def may_run(state: RegisterState, flow: Flow, *, both_ways: bool = False) -> bool:
    """Return whether the register allows a flow to run; an allowed flow may also be stopped.

    :param both_ways: whether copies have names of their own, so that the flow from a standby runs, too

    A run that has handed over stops the flows from the old cluster to further standbys: until it has, they may run.
    """
    roles = state.roles
    if both_ways:
        other = flow.source if roles.of(flow.target) is Role.ACTIVE else flow.target
        ends = {flow.source, flow.target}
        return flow.group == state.group and state.active in ends and not is_closed(state, other)
    if state.phase is Phase.HANDED_OVER and flow.group == state.group and flow.source == state.standby:
        return flow.target in state.standbys
    to_standby = roles.of(flow.source) is Role.ACTIVE and flow.target in roles.standbys
    return flow.group == state.group and to_standby and not is_closed(state, flow.target)


def must_run(state: RegisterState, flow: Flow, *, both_ways: bool = False) -> bool:
    """Return whether a flow has to run: ``dr_flows`` starts that of a standby that waits for one.

    :param both_ways: see :func:`may_run`
    """
    standby = flow.source if both_ways and flow.target == state.active else flow.target
    return standby in state.steady_copies and may_run(state, flow, both_ways=both_ways)


def stale_registers(state: RegisterState, states: Mapping[str, RegisterState | None]) -> tuple[str, ...]:
    """Return the clusters whose register lacks the newest record and may be given it.

    Only while no run moves the group. A ``diverged`` old cluster is fenced, so its register gets the record, too.
    Which process executes a failback is known to the active cluster's register alone. An empty register of several gets
    a record that more than half hold: others may have written a newer one to it before it lost that.

    :param states: by cluster that answers
    """
    if state.phase not in SETTLED:
        return ()
    # Of a cluster that may take writes nothing is changed before it is fenced.
    told = {name: found for name, found in states.items() if state.roles.of(name) is not Role.UNFENCED}
    clusters, held = len(state.roles.each), sum(found is not None for found in states.values())
    fill = clusters == 2 or 2 * held > clusters
    return tuple(sorted(name for name, found in told.items() if (fill if found is None else _lacks_news(found, state))))


def _lacks_news(found: RegisterState, state: RegisterState) -> bool:
    known, news = (replace(each, revision=0, attempt=0, executor="", attempt_at=None) for each in (found, state))
    return found.order < state.order and known != news
