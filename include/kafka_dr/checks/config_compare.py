"""What a run sees when it compares the active cluster's configuration with a standby's, at this moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafka_dr.checks.cluster_checks import wrong_cluster_id
from kafka_dr.clusters import Acl
from kafka_dr.config_sync import Item, Plan, Side, gate, make_plan, read_sides
from kafka_dr.config_sync.mirrormaker import compare_connector, unknown_connector
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.register import RegisterState
from kafka_dr.replication import Flow
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def current_plan(context: GroupContext, state: RegisterState) -> Plan:
    """Make the plan of this moment, in the direction of the register.

    :param state: the record of a group that stands still
    :raises Refused: a cluster is not the one that the topology names
    """
    return plan_between(context, state.active, state.standby, epoch=state.epoch)


def plan_between(
    context: GroupContext, active: str, standby: str, *, epoch: int, acls: Callable[[str], frozenset[Acl]] | None = None
) -> Plan:
    """Make the plan of this moment between two clusters.

    :param epoch: the register's, when the direction was read from it
    :param acls: what has read a cluster's ACLs already; they are read anew where ``None``
    :raises Refused: a cluster is not the one that the topology names
    """

    def side(name: str) -> Side:
        cluster = context.operator(name)
        fence = context.clients.register(name).added_acls(context.group.name, name)
        audit = context.clients.cluster(name, "audit")
        return Side(
            cluster,
            fence,
            acls=partial(acls, name) if acls else cluster.acls.list,
            seen_by_audit=lambda: audit.configs.overview().topics,
            open_to_all=bool(context.clients.topology.cluster(name).allow_everyone_if_no_acl),
        )

    flow = Flow(context.group.name, active, standby)
    first, second = context.at_once(lambda: side(active), lambda: side(standby))
    beside, (here, there) = context.at_once(
        lambda: _connector(context, flow), lambda: read_sides(first, second, context.group)
    )
    for snapshot in (here, there):
        require_cluster(context, snapshot.cluster, snapshot.cluster_id)
    others = [other for name, other in context.clients.topology.protection_groups.items() if name != context.group.name]
    return make_plan(here, there, context.group, epoch=epoch, others=others, beside=beside)


def _connector(context: GroupContext, flow: Flow) -> tuple[Item, ...]:
    """Return the rows about the connector that copies to the standby; one that cannot be asked is unknown."""
    try:
        config = context.clients.connect(flow.target).config(flow.connector)
    except KafkaDrError as error:
        return (unknown_connector(flow.connector, str(error)),)
    return tuple(compare_connector(flow.connector, config))


def standby_configured(run: Run) -> Check:
    """Answer, for a run that is about to switch, whether its target is configured to take over."""
    epoch = run.epoch
    answer = gate.ask(plan_between(run, run.source, run.target, epoch=epoch, acls=run.read_cache.acls))
    mend = ". The plan of dr_config_sync says what mends it" if answer.outcome == "failed" else ""
    return Check("standby_configured", answer.outcome, answer.sentence + mend)


def require_cluster(context: GroupContext, name: str, found: str) -> None:
    """Compare and change nothing on a cluster that is not the declared one.

    :param found: the id that the cluster itself told
    :raises Refused: it is another one
    """
    if said := wrong_cluster_id(context.clients, name, found):
        raise Refused(f"{said}: nothing is compared or changed there; mend the address, or the topology")
