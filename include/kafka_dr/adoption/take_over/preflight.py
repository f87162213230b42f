"""Find out whether the existing replication can be taken over, and which faults of its copy there are.

Nothing is changed on either cluster, except that the topics of the registers are created: the question is asked there.
Where others apply access rules, and nobody has seen yet whether a DENY lasts, one that stops nobody is added and then
lifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.fenceable import witness_intent
from kafka_dr.adoption.registers import create_registers
from kafka_dr.adoption.take_over import decision
from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.adoption.take_over.denies_last import with_lasting_seen
from kafka_dr.approvals.decision import digest_of
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Ask everything that has to hold."""
    context = TakeOverContext(run)
    return with_lasting_seen(context, take_over_checks(context))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        *witness_intent(run),
        f"show the approvers what copies {run.group.name} now, and which faults its copy has",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Put decision facts and measurements together, and create the registers, where the question is asked."""
    if not run.request.dry_run:
        create_registers(run)
    context = TakeOverContext(run)
    decided = decision.facts(context, run.checks)
    return {"decision": decided, "digest": digest_of(decided), "measurements": decision.measured(context)}
