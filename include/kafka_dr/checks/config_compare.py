"""Compares the active cluster's configuration with a standby's, as both are now."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import Acl
from kafka_dr.config_sync import gate
from kafka_dr.config_sync.items import Item
from kafka_dr.config_sync.plan import Plan, compare_flow, make_plan, unknown_flow
from kafka_dr.config_sync.reading import ComparedCluster, read_clusters
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import wrong_cluster_id
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run


def current_plan(context: GroupContext, state: RegisterState, standby: str | None = None) -> Plan:
    """Return the plan of this moment, from the active cluster to a standby.

    :param state: the record of a group that no run holds
    :param standby: ``None``: of several the first one that differs
    :raises Refused: a cluster is not the one that the topology declares
    """
    plans = (plan_between(context, state.active, name, epoch=state.epoch) for name in state.followers)
    if standby is not None:
        return plan_between(context, state.active, standby, epoch=state.epoch)
    first = next(plans)
    return first if first.changes else next((plan for plan in plans if plan.changes), first)


def plan_between(
    context: GroupContext, active: str, standby: str, *, epoch: int, acls: Callable[[str], frozenset[Acl]] | None = None
) -> Plan:
    """Return the plan of this moment between two clusters.

    :param epoch: of the register record that named the two clusters
    :param acls: returns a cluster's ACLs that were read before; ``None`` reads them again
    :raises Refused: a cluster is not the one that the topology declares
    """

    def compared(name: str) -> ComparedCluster:
        cluster = context.operator(name)
        fence = context.clients.register(name).added_acls(context.group.name, name).current
        audit, spec = context.clients.cluster(name, "audit"), context.clients.topology.cluster(name)
        return ComparedCluster(
            cluster,
            fence,
            acls=partial(acls, name) if acls else cluster.acls.list,
            seen_by_audit=lambda: audit.configs.overview().topics,
            rules_in="" if spec.access_rules.is_direct else spec.access_rules.where,
            acls_decide=spec.access_rules.acls_decide,
            open_to_all=bool(spec.allow_everyone_if_no_acl),
        )

    flow = context.flow_between(active, standby)
    active_cluster, standby_cluster = parallel.at_once(lambda: compared(active), lambda: compared(standby))
    of_flow, (active_now, standby_now) = parallel.at_once(
        lambda: _of_flow(context, flow), lambda: read_clusters(active_cluster, standby_cluster, context.group)
    )
    for snapshot in (active_now, standby_now):
        require_cluster(context, snapshot.cluster, snapshot.cluster_id)
    declared, own = context.clients.topology.protection_groups, context.declared
    others = [other for name, other in declared.items() if name != own.name and not own.shares_with(other)]
    return make_plan(active_now, standby_now, context.group, epoch=epoch, others=others, further=of_flow)


def _of_flow(context: GroupContext, flow: Flow) -> tuple[Item, ...]:
    """Return the rows about the flow to the standby; unknown if what runs it does not answer."""
    try:
        setup = context.clients.replicator(flow).setup()
    except KafkaDrError as error:
        return (unknown_flow(flow.name, str(error)),)
    return tuple(compare_flow(flow.name, setup.also_changes if setup else {}))


def standby_configured(run: Run) -> Check:
    """Return whether the target of a run is configured to become active."""
    epoch = run.epoch
    answer = gate.ask(plan_between(run, run.source, run.target, epoch=epoch, acls=run.read_cache.acls))
    fix = ". See the plan of dr_config_sync" if answer.outcome == "failed" else ""
    return Check("standby_configured", answer.outcome, answer.sentence + fix)


def require_cluster(context: GroupContext, name: str, found: str) -> None:
    """Refuse to compare or change a cluster that is not the declared one.

    :param found: the id that the cluster itself reports
    :raises Refused: it has another id than the declared one
    """
    if said := wrong_cluster_id(context.clients, name, found):
        raise Refused(f"{said}. Nothing was compared or changed on {name}: fix the connection or the topology")
