"""What health checks and never changes: the route, DENYs on the active cluster, the replicator's rights, the lag."""

from __future__ import annotations

from datetime import datetime, timedelta

from kafka_dr.audit.result import AuditKind, AuditResult, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.checks.route_ahead import ahead
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import found_in
from kafka_dr.health.desired_state import SETTLED
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.routing import Route
from kafka_dr.runs.group_context import GroupContext


def judge_route(state: RegisterState, route: Route | None) -> Check:
    """Judge whether the route leads to the active cluster. While a run hands over it may lead to either."""
    if later := ahead(route, state):
        return Check("route", "failed", later)
    if state.phase is Phase.HANDED_OVER or (route is not None and route.active == state.active):
        return Check("route", "ok", f"the route leads to {route.active if route else 'no cluster'}")
    if route is None:
        said = f"{state.group} has no route, but {state.active} is active: restore it from a copy"
        return Check("route", "failed", f"{said}; dr_adopt writes one only until the group is moved for the first time")
    said = (
        f"the route leads to {route.active} (epoch {route.epoch}), but {state.active} is active (epoch {state.epoch}): "
        f"applications of {state.group} look up the wrong cluster; check run {state.run}"
    )
    return Check("route", "failed", said)


def check_route(context: GroupContext, state: RegisterState) -> Check:
    """Read the route and judge it."""
    try:
        return judge_route(state, context.clients.router(context.group).read())
    except KafkaDrError as error:
        return Check("route", "unknown", str(error))


def check_active(context: GroupContext, state: RegisterState) -> Check:
    """Check that no DENY keeps applications from the active cluster, and that the next fence would cover its writers.

    Nothing is lifted or removed: a person decides.
    """
    if state.phase not in SETTLED:
        return Check("active", "ok", f"{state.group} is {state.phase}: its run adds and lifts the DENYs")
    direct = context.access_rules(state.active).is_direct
    found = context.read_cache.acls(state.active) if direct else context.rules_in_force(state.active)
    added = context.clients.register(state.active).added_acls(context.group.name, state.active).current
    # A change DENY that somebody else added does not stop applications; one that we added belongs on a standby only.
    group = context.group.on(state.active)
    denies = found_in(found, plan.work_denies(group)) | (plan.change_fence(group) & found & added)
    if not denies:
        writers = writers_declared(context, (state.active,), seen=context.read_cache)
        said = f"{state.active} is open to the applications" if writers.outcome == "ok" else writers.detail
        return Check("active", writers.outcome, said)
    shown = "; ".join(str(acl) for acl in sorted(denies)[:3])
    said = (
        f"{len(denies)} DENYs of a standby were found on {state.active}, which is active ({shown}): applications of "
        f"{state.group} are denied; find out who added them"
    )
    return Check("active", "failed", said)


def check_standby(context: GroupContext, state: RegisterState, standby: str) -> Check:
    """Check that the replicator may write to a standby while it has to."""
    if not state.is_at_rest or standby not in state.followers:
        return Check("standby", "ok", f"{state.group} is {state.phase}: nothing has to be copied")
    if state.roles.of(standby) is Role.PENDING:
        said = f"{standby} waits for a flow from {state.active}, so no failover can go there: see dr_flows"
        return Check("standby", "warning", said)
    denied = plan.fence_of_flow(context.group, state.active, standby) & context.rules_in_force(standby)
    if not denied:
        return Check("standby", "ok", f"{context.group.replicator_principal} may write on {standby}")
    said = f"{context.group.replicator_principal} is denied WRITE on {standby}, the standby: see dr_flows"
    return Check("standby", "failed", said)


def check_lag(context: GroupContext, state: RegisterState, standby: str) -> Check:
    """Read the newest lag audit of the group's flow to a standby and judge it."""
    store = ResultStore(context.clients.evidence_root)
    try:
        kept = store.newest(AuditKind.LAG, group=state.group, source=state.active, target=standby)
    except (ResultUnreadable, OSError) as error:
        return Check("lag", "unknown", f"the newest lag audit of {state.group} cannot be read: {cause(error)}")
    oldest = context.clock.now() - timedelta(seconds=context.group.audits.lag_max_age_seconds)
    return judge_lag(state, standby, kept, oldest=oldest, threshold=context.group.thresholds.max_lag_seconds)


def judge_lag(
    state: RegisterState, standby: str, kept: AuditResult | None, *, oldest: datetime, threshold: float
) -> Check:
    """Propose the planned failover if the replication lag is too long: lag alone is no sign that a cluster is down.

    A missing or outdated lag audit is not judged by this check.

    :param oldest: an audit from before this moment says nothing about now
    :param threshold: how long the replication lag may be, in seconds
    """
    is_copied = standby in state.steady_copies
    lag = kept.behind_seconds if kept is not None and kept.at >= oldest and is_copied else None
    if kept is None or lag is None or lag <= threshold:
        above = f"above {duration(threshold)} from {state.active} to {standby}"
        said = f"no fresh lag audit shows a replication lag {above}"
        return Check("lag", "ok", said)
    said = (
        f"the replication lag from {state.active} to {standby} was {duration(lag)} at {kept.at:%H:%M:%S} UTC, "
        f"{duration(threshold)} are allowed: see dr_flows; dr_planned_failover can move {state.group} as soon as the "
        "copy has caught up"
    )
    return Check("lag", "failed", said)
