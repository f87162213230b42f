"""How a protection group comes under the register: as one that nothing replicates yet, or by a take over."""

from __future__ import annotations

from typing import Literal

from kafka_dr.adoption import canary_topic
from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.denies_last import with_lasting_seen
from kafka_dr.approvals.who_may_answer import enough
from kafka_dr.checks.cluster_checks import right_clusters
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run

#: ``adopt`` asks nobody, and also says what is to be done about a group that is held or adopted already.
AdoptionWay = Literal["adopt", "take_over"]


def way_of(group: str, clients: Clients) -> AdoptionWay:
    """Return which way a group is adopted.

    :param group: the name of a protection group
    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    """
    context = GroupContext(group, clients)
    if context.declared.existing_replication is None:
        return "adopt"
    state = context.read_register_state()
    return "take_over" if state is None or state.phase is Phase.RELEASED else "adopt"


def before_the_audit(request: RunRequest, clients: Clients, *, create_canary_topic: bool = False) -> tuple[Check, ...]:
    """Ask what a take over needs, but for the audit of the copy, which may take hours.

    Nothing is changed, except if everything else is as it should be: where others apply access rules, a DENY that stops
    nobody is added and lifted again; and the canary topic is created if a person said so.

    :param request: of a take over
    """
    run = Run(request, clients)
    context = TakeOverContext(run)
    checks = (enough(run), *with_lasting_seen(context, take_over_checks(context, audited=False)))
    if not all(each.passes for each in checks):
        return checks
    return (*checks, with_canary_topic(request, clients, create=create_canary_topic))


def with_canary_topic(request: RunRequest, clients: Clients, *, create: bool) -> Check:
    """Return whether a group that is to be taken over has its canary topic; create a missing one if a person said so.

    It is created before the audit, which has to cover every topic.

    :param request: of a take over; a dry run creates nothing
    """
    run = Run(request, clients)
    clusters = right_clusters(run, (run.source, run.target))
    if not clusters.passes:
        return clusters
    wanted = canary_topic.missing(run, active=run.source, standbys=[run.target])
    found = canary_topic.judged(wanted, name=run.group.canary_topic, create=create)
    if wanted is not None and create and not request.dry_run:
        canary_topic.create(run, wanted)
    return found
