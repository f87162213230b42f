"""Fence the flow at the target and prove it; at the same time fence the source, if it answers.

The replicator's principal is denied and its transactional ids are taken over. From then on the target's log does not
grow, so it is certain what was copied. The flow is asked to stop. The step does not wait for that: with a
dead source it takes a minute. A task of the flow that wakes up later cannot write.

Of a group with several standbys the others are fenced, too, and what one of them holds more is fetched: see
:mod:`kafka_dr.failover.unplanned.fetch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.clusters import TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.fence_source import stable_ends
from kafka_dr.failover.planned.stop_flow import closed_to_replication, stays_still, target_is_shut
from kafka_dr.failover.unplanned import donors, fetch, last_known, reachable_source
from kafka_dr.failover.unplanned.fetch_writing import ledger_of, right_is_gone, take_right_back
from kafka_dr.failover.unplanned.old_flow import ask_to_stop
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.group_offsets.transfers import along_flow
from kafka_dr.named_rows import positions_to_json
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.rescue.fetch_ledger import transactional_id
from kafka_dr.runs import members
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.run import Run

#: How long the target may take to end the flow's transactions, and to say what was copied, in seconds.
_STABLE_SECONDS = 8.0
_COPIED_SECONDS = 4.0


def check(run: Run) -> Sequence[Check]:
    """Where members serve together, the target must still serve, and no third member may let its groups read."""
    return members.may_leave(run, members.target_serves, members.frozen_where_known)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    seconds = reachable_source.fence_seconds(run) + reachable_source.drain_seconds(run)
    return (
        f"if {run.source} answers: fence it and copy the rest of its records, for at most {duration(seconds)}; if it "
        "does not: do not wait for it, and fence it in the background as soon as it does",
        f"deny WRITE on {run.target} to {run.group.replicator_principal} and take over its transactional ids, then "
        f"journal the log ends of {run.target} and what was copied",
        *fetch.intent(run),
    )


def act(run: Run) -> Mapping[str, Any]:
    """Fence, and journal the log ends of the target and what was copied."""
    fencing = reachable_source.begin_fencing(run)
    others = donors.begin_fencing(run) if fetch.is_wanted(run) else None
    ended = _fence_flow(run)
    topics, partitions = run.operator(run.target).topics, run.led_with_copies(run.target)
    ends, starts = parallel.at_once(lambda: topics.high_watermarks(partitions), lambda: topics.log_starts(partitions))
    by_flow, said = _copied(run)
    copied = by_flow or {}
    # What an earlier attempt or another run has fetched is on the target, and its flow does not know of it.
    copies = along_flow(run).of_target(ends, run.group.owns_topic)
    reached = CopyReached.of(copied, ledger_of(run) if fetch.is_possible(run) else {}, copies)
    frontier = last_known.frontier(run)
    places = frontier.points if frontier else {}
    verified = {TopicPartition(*key): place.source_offset for key, place in places.items()}
    source_state = fencing()
    run.write_fact("source_side", source_state.to_json())
    run.write_fact(UNVERIFIED, {"frontier": positions_to_json(verified), **reached.to_json()})
    run.write_fact("target_ends", {"ends": positions_to_json(ends), "starts": positions_to_json(starts)})
    fetched = fetch.act(run, by_flow, others()) if others and not source_state.drained else {}
    held = fetch.copied_by_survivors(fetched, CopyReached.from_json(run.fact(UNVERIFIED)).copied)
    return {
        "source_side": source_state.to_json(),
        "target_ends": run.fact("target_ends")["ends"],
        "copied": positions_to_json(copied),
        "copied_known_from": said,
        "verified_frontier": positions_to_json(verified),
        "ended_transactions": ended,
        "predicted_loss": last_known.loss(run, held),
        **({fetch.FETCHED: fetched} if fetched else {}),
    }


def prove(run: Run) -> Sequence[Check]:
    """Every leader on the target refuses the replicator, and the target's log ends do not move."""
    return (*target_is_shut(run), *((right_is_gone(run),) if fetch.is_possible(run) else ()))


def _fence_flow(run: Run) -> list[str]:
    """Fence the flow at the target; return the transactional ids that were taken over."""
    target = run.operator(run.target)
    guard = run.guard(Phase.SWITCHING)
    guard.require()
    ask_to_stop(run)
    run.look_for_topics(run.target)
    changes = run.acl_changes(run.target, guard)
    changes.add(plan.fence_of_flow(run.group, run.source, run.target))
    partitions = run.led_with_copies(run.target)
    closed = {p.topic for p in partitions if closed_to_replication(run, p.topic)}
    found = open_transactions.touching(target, closed, owns=lambda _: False)
    ids = {*run.clients.replicator(run.flow).transactional_ids(), *(each.transactional_id for each in found)}
    if fetch.is_possible(run):
        ids.add(transactional_id(run.group.name))
        take_right_back(run, changes, run.target)
    guard.require()
    target.transactions.take_over(ids)
    stable_ends(run, run.target, [p for p in partitions if stays_still(run, p)], seconds=_STABLE_SECONDS)
    return sorted(ids)


def _copied(run: Run) -> tuple[Mapping[TopicPartition, int] | None, str]:
    """Return the offsets up to which the source was copied, by partition, and how that is known; none if it is not."""
    try:
        found = BackgroundCall("the flow's offsets", run.clients.replicator(run.flow).committed).within(_COPIED_SECONDS)
    except KafkaDrError as error:
        return None, f"not known: {error}"
    owned = {p: offset for p, offset in found.items() if run.group.owns_topic(p.topic)}
    return owned, "the offsets that the flow committed together with the records"
