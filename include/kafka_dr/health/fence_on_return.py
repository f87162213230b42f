"""Fence on return: an old cluster that was left unfenced answers again. It is fenced first, and its records counted.

In this order: DENYs and their proof; the retention hold; what the cluster accepted in the meantime, journaled; the
compare-and-set to ``diverged`` in the active cluster's register. If a step fails, the next check a minute later repeats
it; only the retention hold is not waited for, because a cluster may refuse it.
"""

from __future__ import annotations

from kafka_dr.checks.returned_cluster import count_on_returned
from kafka_dr.errors import KafkaDrError
from kafka_dr.health.restore_fence import FenceRepair
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.port import History
from kafka_dr.register.transitions import copy_again, fenced_on_return
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.retention_hold import hold_retention

#: Its evidence is kept with that of the run that left the cluster unfenced.
NUMBER, STEP = 92, "fence_on_return"


def record_return(context: GroupContext, state: RegisterState, repair: FenceRepair, guard: RegisterGuard) -> Check:
    """Count what a returned cluster accepted, now that it is proven to refuse writes, and set the group ``diverged``.

    :param state: the record, ``unfenced``
    :param repair: what fencing the cluster found; proven
    :param guard: asked right before the register is written
    """
    clients, cluster = context.clients, repair.cluster
    attempt = Attempt.start(state.group, state.run, clients, STEP, NUMBER, goes_forward=True)
    register = clients.register(state.active)
    # What the last run has journaled is about the cluster that it has left. Of another one less may be known here.
    run = state.run if cluster == state.moved_with else run_that_left(register.history(state.group), cluster)
    journal = register.facts(state.group, run) if run else {}
    uncopied = count_on_returned(context, cluster, journal)
    fact = uncopied.fact(cluster, fenced_at=context.clock.now())
    register.write_fact(state.group, run or state.run, "returned" if run else f"returned.{cluster}", fact)
    guard.require()
    register.compare_and_set(state, fenced_on_return(state, at=context.clock.now(), cluster=cluster))
    attempt.facts = {**fact, "denies_added": repair.added, "ended_transactions": list(repair.ended)}
    attempt.proofs = repair.proofs
    said = f"{cluster} is back and fenced; {uncopied.sentence}. {state.group} is diverged: {copy_again(state)}"
    attempt.end(clients, "done", said)
    return Check("returned", "failed", said, attempt.facts)


def nothing_expires(context: GroupContext, state: RegisterState, cluster: str, guard: RegisterGuard) -> Check:
    """Switch retention and compaction off on a fenced cluster that may hold stranded records.

    :param guard: asked right before each change
    """
    name = "retention_hold"
    try:
        hold_retention(context, state, cluster, guard)
    except KafkaDrError as error:
        said = (
            f"what only {cluster} holds may expire before it is kept: {error}. Trigger dr_failback now: its first task "
            "keeps the stranded records"
        )
        return Check(name, "failed", said)
    return Check(name, "ok", f"nothing expires on {cluster}")


def run_that_left(history: History, cluster: str) -> str:
    """Return the last run that moved the group away from a cluster; empty if the register does not know it. Pure."""
    left = {
        run: int(facts["claim"]["epoch"])
        for run, facts in history.items()
        if "opened" in facts and facts.get("claim", {}).get("source") == cluster
    }
    return max(left, key=lambda run: left[run], default="")
