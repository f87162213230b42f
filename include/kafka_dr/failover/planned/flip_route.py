"""Let the route name the target, so that applications connect to it; where writes wait for readers, admit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.failover.planned import copy_first, open_target
from kafka_dr.outcomes import Check
from kafka_dr.routing import Route
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """The route can be read, and its epoch is not higher than that of this run."""
    route = run.clients.router(run.group).read()
    epoch = run.epoch
    fits = route is None or run.request.dry_run or route.epoch <= epoch
    said = f"{run.group.name} has no route yet"
    if route is not None:
        said = f"the route of {run.group.name} names {route.active} (epoch {route.epoch})"
    return (
        Check.that(
            "route_is_not_ahead",
            fits,
            f"{said}; this run has epoch {epoch}"
            + ("" if fits else ". A later run has set the route: this run ends here"),
        ),
    )


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    servers = run.clients.topology.cluster(run.target).route_bootstrap_servers
    named = f"let the route of {run.group.name} name {run.target} ({servers})"
    return (named, waits) if (waits := copy_first.question(run)) else (named,)


def act(run: Run) -> Mapping[str, Any]:
    """Compare and set the route, and admit writes that wait until applications have read."""
    return {**_flipped(run), **copy_first.admit_writes(run)}


def _flipped(run: Run) -> Mapping[str, Any]:
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
    """Read the route back; where writes have waited, every leader accepts them, and it is said who had read."""
    route = run.clients.router(run.group).read()
    names = route is not None and route.active == run.target
    said = f"the route of {run.group.name} names {route.active if route else 'no cluster'}"
    if not names:
        said += f", expected {run.target}: run the step again"
    readers_first = tuple(copy_first.checks(run))
    let_in = open_target.applications_let_in(run) if readers_first else ()
    return (Check.that("route_read_back", names, said), *let_in, *readers_first)
