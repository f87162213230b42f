"""Fence on return: a cluster that was left unfenced is back. It is shut before anything else, and then looked at.

In this order: DENYs and their proof; what it accepted meanwhile, journaled; then the compare-and-set that says so at
the active cluster's register. A step of it that did not come through is done again a minute later.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.checks.returned_cluster import count_on_returned
from kafka_dr.health.restore_fence import FenceRepair
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import fenced_on_return
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import Check

#: Evidence of it lies beside that of the run that left the cluster.
NUMBER, STEP = 92, "fence_on_return"


def record_return(context: GroupContext, state: RegisterState, fenced: FenceRepair, still: Callable[[], None]) -> Check:
    """Count what a returned cluster accepted, now that it is proven to refuse, and move the register on.

    :param state: the record, ``unfenced``
    :param fenced: what closing it found; proven
    :param still: asked right before the register is written
    """
    clients, cluster = context.clients, fenced.cluster
    attempt = Attempt.start(state.group, state.run, clients, STEP, NUMBER, goes_forward=True)
    journal = clients.register(state.active).facts(state.group, state.run)
    accepted = count_on_returned(context, cluster, journal)
    fact = accepted.fact(cluster, fenced_at=context.clock.now())
    clients.register(state.active).write_fact(state.group, state.run, "returned", fact)
    still()
    clients.register(state.active).compare_and_set(state, fenced_on_return(state, at=context.clock.now()))
    attempt.facts = {**fact, "denies_added": fenced.added, "ended_transactions": list(fenced.ended)}
    attempt.proofs = fenced.proofs
    said = (
        f"{cluster} is back and fenced; {accepted.sentence}. {state.group} is diverged: bring it home with dr_failback"
    )
    attempt.end(clients, "done", said)
    return Check("returned", "failed", said, attempt.facts)
