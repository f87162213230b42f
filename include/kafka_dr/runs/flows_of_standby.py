"""Which flows could write to a standby, or from it to the active cluster. Pure."""

from __future__ import annotations

from kafka_dr.register import RegisterState
from kafka_dr.replication.flow import Flow


def flows_of(state: RegisterState, standby: str) -> tuple[Flow, ...]:
    """Return the flows that concern a standby: those to it, and the one from it to the active cluster.

    Those of all standbys together are all flows between clusters of the group.
    """
    sources = (state.active, *(name for name in state.standbys if name != standby))
    into = (Flow(state.group, source, standby) for source in sources)
    return (*into, Flow(state.group, standby, state.active))
