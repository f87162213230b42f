"""What should follow the roles and is not mended here: it is named, so that a person looks."""

from __future__ import annotations

from datetime import datetime, timedelta

from kafka_dr.audit import AuditKind, AuditResult, ResultStore, ResultUnreadable
from kafka_dr.checks.cluster_checks import writers_declared
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.health.desired_state import SETTLED
from kafka_dr.register import Phase, RegisterState
from kafka_dr.routing import Route
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check


def judge_route(state: RegisterState, route: Route | None) -> Check:
    """Say whether the route leads to the active cluster. While a run hands over it may lead to either."""
    if state.phase is Phase.HANDED_OVER or (route is not None and route.active == state.active):
        return Check("route", "ok", f"the route leads to {route.active if route else 'nowhere'}")
    if route is None:
        return Check("route", "failed", f"there is no route, and {state.active} is active: write it with dr_adopt")
    said = f"the route leads to {route.active} (epoch {route.epoch}), and {state.active} is active"
    return Check("route", "failed", f"{said} (epoch {state.epoch}): applications look in the wrong place")


def check_route(context: GroupContext, state: RegisterState) -> Check:
    """Read the route and judge it."""
    try:
        return judge_route(state, context.clients.router(context.group).read())
    except KafkaDrError as error:
        return Check("route", "unknown", str(error))


def check_active(context: GroupContext, state: RegisterState) -> Check:
    """Say whether something keeps the applications from the active cluster, or whom the next fence would not stop.

    Nothing is lifted or taken away here: a person decides.
    """
    if state.phase not in SETTLED:
        return Check("active", "ok", f"{state.group} is {state.phase}: its run opens and shuts")
    there = context.read_cache.acls(state.active)
    ours = context.clients.register(state.active).added_acls(context.group.name, state.active)
    # Whom others keep from changing topics works all the same; ours belongs on a standby only.
    standing = (plan.shut_out(context.group) & there) | (plan.change_fence(context.group) & there & ours)
    if not standing:
        writers = writers_declared(context, (state.active,), seen=context.read_cache)
        said = f"{state.active} is open to the applications" if writers.outcome == "ok" else writers.detail
        return Check("active", writers.outcome, said)
    shown = "; ".join(str(acl) for acl in sorted(standing)[:3])
    said = f"{len(standing)} DENYs of a standby stand on {state.active}, which is active ({shown})"
    return Check("active", "failed", f"{said}: applications are shut out, see who set them")


def check_standby(context: GroupContext, state: RegisterState) -> Check:
    """Say whether replication may write where it should."""
    if state.phase is not Phase.STABLE:
        return Check("standby", "ok", f"{state.group} is {state.phase}: nothing has to be copied")
    denied = plan.flow_fence(context.group) & context.operator(state.standby).acls.list()
    if not denied:
        return Check("standby", "ok", f"{context.group.replicator_principal} may write on {state.standby}")
    return Check(
        "standby", "failed", f"{context.group.replicator_principal} is denied on {state.standby}: see dr_flows"
    )


def check_lag(context: GroupContext, state: RegisterState) -> Check:
    """Read the newest lag audit of the group's flow and judge it."""
    store = ResultStore(context.clients.evidence_root)
    try:
        kept = store.newest(AuditKind.LAG, group=state.group, source=state.active, target=state.standby)
    except (ResultUnreadable, OSError) as error:
        return Check("lag", "unknown", f"the newest lag audit cannot be read: {error}")
    oldest = context.clock.now() - timedelta(seconds=context.group.audits.lag_max_age_seconds)
    return judge_lag(state, kept, oldest=oldest, threshold=context.group.thresholds.max_lag_seconds)


def judge_lag(state: RegisterState, kept: AuditResult | None, *, oldest: datetime, threshold: float) -> Check:
    """Propose the planned failover where the copy is too far behind: that alone is no sign that a cluster is down.

    Whether a lag audit is missing or late is not asked here.

    :param oldest: an audit of before says nothing about now
    :param threshold: how far behind the copy may be, in seconds
    """
    behind = kept.behind_seconds if kept is not None and kept.at >= oldest and state.phase is Phase.STABLE else None
    if kept is None or behind is None or behind <= threshold:
        return Check("lag", "ok", f"no lag audit says that {state.standby} is too far behind {state.active}")
    said = f"{state.standby} was {behind:.0f} s behind {state.active} at {kept.at:%H:%M:%S} UTC, not {threshold:g} s"
    way = f"see dr_flows; dr_planned_failover can move {state.group} as soon as the copy has caught up"
    return Check("lag", "failed", f"{said}: {way}")
