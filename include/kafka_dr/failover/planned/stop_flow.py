"""Stop replication and prove it: deny the replicator, take over its transactional ids, watch the target's log.

The flow was asked to stop when nothing was left to copy. The step does not wait for that, as nobody can write
meanwhile: the ACLs on the target fence the flow. Another request may be answered only when the flow has stopped, so it
is sent only if this process knows of none that was taken. ``start_reverse_flow`` waits until the flow has stopped
before it starts the other one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.checks.log_ends import ends_unchanged
from kafka_dr.clusters import TopicPartition
from kafka_dr.failover.planned.fence_source import stable_ends
from kafka_dr.fencing import plan
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.fence_proofs import Led
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    if not run.opens_copy:
        return (f"journal the log ends of {run.target}; {run.flow.name} continues, as nobody writes to its copies",)
    replicator = run.clients.replicator(run.flow)
    return (
        f"stop {run.flow.name} and deny WRITE on {run.target} to {run.group.replicator_principal}",
        f"take over the transactional ids {', '.join(replicator.transactional_ids())} and journal the log ends of "
        f"{run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Fence the flow, stop it, and journal the log ends of the target."""
    ids = _fence_flow(run) if run.opens_copy else ()
    target, partitions = run.operator(run.target), run.led_with_copies(run.target)
    ends, starts = parallel.at_once(
        lambda: _ends(run, partitions),
        lambda: target.topics.log_starts(partitions),
    )
    run.write_fact("target_ends", {"ends": positions_to_json(ends), "starts": positions_to_json(starts)})
    return {"target_ends": positions_to_json(ends), "transactional_ids": list(ids)}


def _ends(run: Run, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    """Return the log ends of the target; where others write there, their transactions are not waited for."""
    still = [p for p in partitions if stays_still(run, p)]
    moving = run.operator(run.target).topics.high_watermarks(set(partitions) - set(still))
    return {**moving, **stable_ends(run, run.target, still, seconds=run.group.timing.step_deadline_seconds)}


def _fence_flow(run: Run) -> tuple[str, ...]:
    """Fence the flow and stop it, and return the transactional ids that it cannot use any more."""
    replicator = run.clients.replicator(run.flow)
    guard = run.guard(Phase.SWITCHING)
    run.clients.cluster(run.target, "replicator").write_permission.connect_ahead()
    guard.require()
    # The ACLs fence the flow. The request to stop takes longer, and need not be waited for first.
    parallel.at_once(
        lambda: ask_to_stop(run),
        lambda: run.acl_changes(run.target, guard).add(plan.flow_fence(run.group.on(run.target))),
    )
    guard.require()
    ids = replicator.transactional_ids()
    run.operator(run.target).transactions.take_over(ids)
    return ids


def ask_to_stop(run: Run) -> None:
    """Ask the flow to stop, unless such a request of this process was taken."""
    executor, flow = run.clients.executor, run.flow.name
    if not executor.has_stopped_flow(run.request.run, flow):
        run.clients.replicator(run.flow).stop()
        executor.stops_flow(run.request.run, flow)


def prove(run: Run) -> Sequence[Check]:
    """Every leader on the target refuses the replicator, and the target's log ends do not move."""
    return target_is_shut(run)


def closed_to_replication(run: Run, topic: str) -> bool:
    """Return whether no flow may write to a topic of the target any more.

    Applications write there, or what the lost source holds would arrive late before that is approved.
    """
    if run.group.owns_topic(topic):
        return True
    return run.request.verb == "unplanned_failover" and _is_copy_of_source(run, topic)


def stays_still(run: Run, partition: TopicPartition) -> bool:
    """Return whether nobody writes to a partition of the target until the hand-over.

    Where members serve together, others write there, and what others write elsewhere is copied there.
    """
    if run.declared.member_of is None:
        return True
    if run.group.owns_topic(partition.topic):
        return run.declared.closes(run.target)
    return run.declared.closes(run.source) and _is_copy_of_source(run, partition.topic)


def _is_copy_of_source(run: Run, topic: str) -> bool:
    """Return whether a topic of the target is a copy, under another name, of one of the source."""
    naming = run.group.naming(run.source, run.target)
    original = naming.original_of(topic) if naming is not None else None
    return original is not None and run.group.owns_topic(original)


def target_is_shut(run: Run) -> tuple[Check, Check]:
    """Return whether the target refuses the replicator, and whether its log has not moved since the flow was fenced."""
    led = run.led_with_copies(run.target)
    refusing = {p: broker for p, broker in led.items() if closed_to_replication(run, p.topic)}
    return parallel.at_once(lambda: replicator_refused(run, refusing), lambda: _target_is_still(run, led))


def replicator_refused(run: Run, led: Led | None = None) -> Check:
    """Return whether every leader on the target refuses writes by the replicator.

    :param led: the target's partitions as they were looked up right before; ``None``: they are looked up
    """
    return run.writes_refused(run.target, by="replicator", led=led).named("replicator_refused")


def _target_is_still(run: Run, partitions: Collection[TopicPartition]) -> Check:
    """Return whether the target's log ends have not moved since the flow was fenced."""
    journaled = positions_from_json(run.fact("target_ends")["ends"])
    journaled = {p: end for p, end in journaled.items() if stays_still(run, p)}
    now = run.operator(run.target).topics.high_watermarks([p for p in partitions if stays_still(run, p)])
    return ends_unchanged(
        "target_is_still",
        journaled,
        now,
        about=f"on {run.target} since the flow was fenced",
        moved="Find out which principal writes there, and stop it",
    )
