"""Fence the flow at the target and prove it; at the same time fence the source, if it answers.

The replicator's principal is denied and its transactional ids are taken over. From then on the target's log does not
grow, so it is certain what was copied. The flow is asked to stop. The step does not wait for that: with a
dead source it takes a minute. A task of the flow that wakes up later cannot write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.clusters import TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.fence_source import stable_ends
from kafka_dr.failover.planned.stop_flow import target_is_shut
from kafka_dr.failover.unplanned import last_known, reachable_source
from kafka_dr.failover.unplanned.old_flow import ask_to_stop
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.run import Run

#: How long the target may take to end the flow's transactions, and to say what was copied, in seconds.
_STABLE_SECONDS = 8.0
_COPIED_SECONDS = 4.0


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    seconds = reachable_source.fence_seconds(run) + reachable_source.drain_seconds(run)
    return (
        f"if {run.source} answers: fence it and copy the rest of its records, for at most {duration(seconds)}; if it "
        "does not: do not wait for it, and fence it in the background as soon as it does",
        f"deny WRITE on {run.target} to {run.group.replicator_principal} and take over its transactional ids, then "
        f"journal the log ends of {run.target} and what was copied",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Fence, and journal the log ends of the target and what was copied."""
    fencing = reachable_source.begin_fencing(run)
    ended = _fence_flow(run)
    topics, partitions = run.operator(run.target).topics, run.partitions(run.target)
    ends, starts = parallel.at_once(lambda: topics.high_watermarks(partitions), lambda: topics.log_starts(partitions))
    copied, said = _copied(run)
    frontier = last_known.frontier(run)
    places = frontier.points if frontier else {}
    verified = {TopicPartition(*key): place.source_offset for key, place in places.items()}
    source_state = fencing()
    run.write_fact("source_side", source_state.to_json())
    run.write_fact("unverified", {"frontier": positions_to_json(verified), "copied": positions_to_json(copied)})
    run.write_fact("target_ends", {"ends": positions_to_json(ends), "starts": positions_to_json(starts)})
    return {
        "source_side": source_state.to_json(),
        "target_ends": positions_to_json(ends),
        "copied": positions_to_json(copied),
        "copied_known_from": said,
        "verified_frontier": positions_to_json(verified),
        "ended_transactions": ended,
        "predicted_loss": last_known.loss(run, copied),
    }


def prove(run: Run) -> Sequence[Check]:
    """Every leader on the target refuses the replicator, and the target's log ends do not move."""
    return target_is_shut(run)


def _fence_flow(run: Run) -> list[str]:
    """Fence the flow at the target; return the transactional ids that were taken over."""
    target = run.operator(run.target)
    guard = run.guard(Phase.SWITCHING)
    guard.require()
    ask_to_stop(run)
    run.look_for_topics(run.target)
    run.acl_changes(run.target, guard).add(plan.flow_fence(run.group))
    partitions = run.partitions(run.target)
    found = open_transactions.touching(target, {p.topic for p in partitions}, owns=lambda _: False)
    ids = {*run.clients.replicator(run.flow).transactional_ids(), *(each.transactional_id for each in found)}
    guard.require()
    target.transactions.take_over(ids)
    stable_ends(run, run.target, partitions, seconds=_STABLE_SECONDS)
    return sorted(ids)


def _copied(run: Run) -> tuple[Mapping[TopicPartition, int], str]:
    """Return the offsets up to which the source was copied, by partition, and how that is known; empty if it is not."""
    try:
        found = BackgroundCall("the flow's offsets", run.clients.replicator(run.flow).committed).within(_COPIED_SECONDS)
    except KafkaDrError as error:
        return {}, f"not known: {error}"
    owned = {p: offset for p, offset in found.items() if run.group.owns_topic(p.topic)}
    return owned, "the offsets that the flow committed together with the records"
