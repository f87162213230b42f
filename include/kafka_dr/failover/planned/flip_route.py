"""Send the applications to the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.routing import Route
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The route can be read and is not ahead of this run."""
    route = run.clients.router(run.group).read()
    epoch = run.epoch
    fits = route is None or run.request.dry_run or route.epoch <= epoch
    said = "no route yet" if route is None else f"the route names {route.active} (epoch {route.epoch})"
    return (Check.that("route_is_not_ahead", fits, f"{said}, this run has epoch {epoch}"),)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    servers = run.clients.topology.cluster(run.target).route_bootstrap_servers
    return (f"let the route of {run.group.name} name {run.target} ({servers})",)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the route."""
    router = run.clients.router(run.group)
    before = router.read()
    epoch = run.epoch
    if before is not None and (before.active, before.epoch) == (run.target, epoch):
        return {"route": run.target, "flipped_at": before.at}
    after = Route(
        group=run.group.name,
        active=run.target,
        bootstrap_servers=run.clients.topology.cluster(run.target).route_bootstrap_servers,
        epoch=epoch,
        at=run.clock.now(),
    )
    router.switch(expected_epoch=before.epoch if before else None, route=after)
    return {"route": run.target, "flipped_at": after.at}


def prove(run: Run) -> Sequence[Check]:
    """Read the route back."""
    route = run.clients.router(run.group).read()
    names = route is not None and route.active == run.target
    return (Check.that("route_read_back", names, f"the route names {route.active if route else 'nothing'}"),)
