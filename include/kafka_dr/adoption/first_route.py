"""The route of a group that is adopted now."""

from __future__ import annotations

from kafka_dr.register import RegisterState
from kafka_dr.routing import Route
from kafka_dr.runs.group_context import GroupContext


def write_first_route(context: GroupContext, state: RegisterState) -> str:
    """Write the route if there is none, and return the cluster that it names. Proofs compare it with the record."""
    router = context.clients.router(context.group)
    before = router.read()
    if before is not None:
        return before.active
    servers = context.clients.topology.cluster(state.active).route_bootstrap_servers
    router.switch(
        expected_epoch=None, route=Route(context.group.name, state.active, servers, state.epoch, context.clock.now())
    )
    return state.active
