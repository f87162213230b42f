"""Stop replication and prove it: the replicator is denied, its transactional ids are taken over, its log is still.

Connect is told to stop the connector and not waited for, as nobody can write meanwhile: what shuts the flow out stands
on the target. ``start_reverse_flow`` sees that the connector has stopped, before anything is copied the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import TryAgain
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.register import Phase
from kafka_dr.runs.offset_rows import positions_from_json, positions_to_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    replicator = run.clients.replicator(run.flow)
    return (
        f"stop the connector {run.flow.connector} and deny WRITE on {run.target} to {run.group.replicator_principal}",
        f"take over the transactional ids {', '.join(replicator.transactional_ids())} and journal the target's ends",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Fence the flow, stop it, and journal the ends of the target's log."""
    target = run.operator(run.target)
    replicator = run.clients.replicator(run.flow)
    permission = run.permission(Phase.SWITCHING)
    run.clients.cluster(run.target, "replicator").asking.connect_ahead()
    permission()
    replicator.stop()
    run.acl_changes(run.target, permission).add(plan.flow_fence(run.group))
    permission()
    target.transactions.take_over(replicator.transactional_ids())
    partitions = run.partitions(run.target)
    held = open_transactions.wait_until_stable(
        target, partitions, clock=run.clock, deadline_seconds=run.group.timing.step_deadline_seconds
    )
    if held:
        shown = ", ".join(map(str, sorted(held)[:5]))
        raise TryAgain(f"open transactions still hold back {shown} on {run.target}: end them and run the step again")
    ends = target.topics.high_watermarks(partitions)
    run.write_fact("target_ends", {"ends": positions_to_json(ends)})
    return {"target_ends": positions_to_json(ends), "transactional_ids": list(replicator.transactional_ids())}


def prove(run: Run) -> Sequence[Check]:
    """The replicator is refused by every leader, and the target's ends are still."""
    return run.at_once(lambda: replicator_refused(run), lambda: target_is_still(run))


def replicator_refused(run: Run) -> Check:
    """Return whether every leader on the target refuses what the flow writes as."""
    return Check.of("replicator_refused", run.writes_refused(run.target, by="replicator"))


def target_is_still(run: Run) -> Check:
    """Return whether the target's log has not moved since the flow was fenced."""
    journaled = positions_from_json(run.fact("target_ends")["ends"])
    now = run.operator(run.target).topics.high_watermarks(run.partitions(run.target))
    moved = sorted(partition for partition in now if now[partition] != journaled.get(partition, 0))
    detail = f"the ends of {len(now)} partitions on {run.target} have not moved since the flow was fenced"
    if moved:
        shown = ", ".join(map(str, moved[:5]))
        detail = f"{shown} on {run.target} moved after the flow was fenced: find out who writes there"
    return Check.that("target_is_still", not moved, detail)
