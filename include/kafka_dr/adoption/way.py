"""How a protection group comes under the register: as one that nothing replicates yet, or by a take over."""

from __future__ import annotations

from typing import Literal

from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
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
    if context.group.existing_replication is None:
        return "adopt"
    state = context.read_register_state()
    return "take_over" if state is None or state.phase is Phase.RELEASED else "adopt"


def before_the_audit(request: RunRequest, clients: Clients) -> tuple[Check, ...]:
    """Ask what a take over needs, but for the audit of the copy, which may take hours. Nothing is changed.

    :param request: of a take over
    """
    return take_over_checks(TakeOverContext(Run(request, clients)), audited=False)
