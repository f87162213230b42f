"""Which flow of a group is to be audited now: the one that the register asks for, while nothing moves."""

from __future__ import annotations

from kafka_dr.failover.request import RunRequest
from kafka_dr.failover.run import Run
from kafka_dr.failover.watched import Watched, at_rest
from kafka_dr.failover.world import World
from kafka_dr.replication import Flow


def flow_to_audit(group: str, world: World) -> Flow | Watched:
    """Return the flow from the active cluster to the standby, or why this group is left alone.

    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    """
    state = at_rest(group, Run(RunRequest(group, "audit"), world).read_standing())
    return state if isinstance(state, Watched) else Flow(group, state.active, state.standby)
