"""Stop writes on the source and prove it: DENYs, then transactions, then a refused write on every leader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr import parallel
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.group_offsets.live_verification import ARRIVAL_SECONDS, still_missing
from kafka_dr.named_rows import positions_to_json, rows_of
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed
from kafka_dr.register import Phase
from kafka_dr.runs import members
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.run import Run

#: Groups and the records that they had not read when writes were refused, for :func:`~kafka_dr.named_rows.rows_of`.
GROUPS_LEFT = {"named": "group", "holding": "records"}


def check(run: Run) -> Sequence[Check]:
    """Where members serve together, the target must still serve, and nobody else may use the source.

    Groups that move with the clients must be frozen on every third member.
    """
    return members.may_leave(run, members.target_serves, members.no_guests, members.groups_frozen_elsewhere)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    group = run.group
    return (
        f"deny WRITE on {run.source} to {', '.join(group.principals)}, then to {group.probe_principal}",
        f"wait up to {duration(group.timing.transaction_grace_seconds)} for open transactions, deny their "
        "transactional ids, and end those that are still open",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Fence, end open transactions, and journal the log ends of the source."""
    run.probe(run.source).write_permission.connect_ahead()
    guard = run.guard(Phase.SWITCHING)
    _journal_beginning(run)
    changes = run.changes_at_source(guard)
    # Each change of rules that are kept elsewhere takes seconds of outage, so these come with the first one.
    source = run.group.on(run.source)
    early = () if run.access_rules(run.source).is_direct else (plan.change_fence(source),)
    changes.add(plan.write_fence(source), plan.probe_fence(source), *early)
    if run.look_for_topics(run.source):
        # A topic that a pattern matches was created meanwhile. One that comes later ends the run in open_target.
        source = run.group.on(run.source)
        changes.add(plan.write_fence(source), plan.probe_fence(source))
    fenced_at = run.clock.now()

    partitions = members.to_be_copied(run)
    ended = _end_transactions(run, {partition.topic for partition in partitions}, changes, guard)
    ends, (seen_at, committed) = parallel.at_once(
        lambda: stable_ends(run, run.source, partitions, seconds=run.group.timing.step_deadline_seconds),
        lambda: _positions_now(run),
    )
    run.write_fact(
        "source_ends",
        {
            "ends": positions_to_json(ends),
            "fenced_at": fenced_at.isoformat(),
            "groups_seen_at": seen_at.isoformat(),
            "groups_left": rows_of(records_left(committed, ends), **GROUPS_LEFT),
        },
    )
    return {
        "ended_transactions": ended,
        "source_ends": positions_to_json(ends),
        "fenced_at": fenced_at,
    }


def _positions_now(run: Run) -> tuple[datetime, Committed]:
    """Return what the groups have committed, and when that was read: the next step judges their pace from then on."""
    committed = run.operator(run.source).groups.offsets(run.moved_groups(run.source), require_stable=False)
    return run.clock.now(), committed


def records_left(offsets: Committed, ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    """Return the number of records between each group's offsets and the log ends; groups at the end are left out."""
    left = {
        name: sum(max(0, ends[p] - offset) for p, offset in found.items() if p in ends)
        for name, found in offsets.items()
    }
    return {name: records for name, records in left.items() if records}


def _end_transactions(run: Run, topics: Collection[str], changes: AclChanges, guard: RegisterGuard) -> list[str]:
    """Wait for open transactions, deny their transactional ids, end those still open; return the ids of the ended."""
    if not topics:
        return []
    source, owns = run.operator(run.source), run.group.owns_transactional_id
    grace = run.group.timing.transaction_grace_seconds
    open_transactions.wait_until_ended(source, topics, owns=owns, clock=run.clock, grace_seconds=grace)
    changes.add(run.closed(plan.transaction_fence(run.group.on(run.source))))
    ids = [transaction.transactional_id for transaction in open_transactions.touching(source, topics, owns=owns)]
    if ids:
        guard.require()
        source.transactions.take_over(ids)
    return ids


def stable_ends(
    run: Run, cluster: str, partitions: Collection[TopicPartition], *, seconds: float
) -> Mapping[TopicPartition, int]:
    """Wait until no open transaction holds back the last stable offset of a partition, and return these log ends.

    :raises TryAgain: one still does after so many seconds
    """
    found = open_transactions.wait_until_stable(
        run.operator(cluster), partitions, clock=run.clock, deadline_seconds=seconds
    )
    if held := found.held_back:
        shown = ", ".join(f"{p} (LSO {low}, high watermark {high})" for p, (low, high) in sorted(held.items())[:5])
        raise TryAgain(
            f"open transactions still hold back the last stable offset of {shown} on {cluster}: end them and run the "
            "step again"
        )
    return found.stable


def _journal_beginning(run: Run) -> None:
    """Journal when writes began to be refused; a later attempt keeps the time of the first one."""
    if "fence_begun" not in run.journal:
        run.write_fact("fence_begun", {"at": run.clock.now().isoformat()})


def prove(run: Run) -> Sequence[Check]:
    """Every leader refuses writes, the DENYs can be read back, and every partition with data is replicated."""
    led = run.led(run.source)
    wanted = (
        plan.write_fence(run.group.on(run.source))
        | plan.transaction_fence(run.group.on(run.source))
        | plan.probe_fence(run.group.on(run.source))
    )
    return parallel.at_once(
        lambda: run.writes_refused(run.source, led=led),
        lambda: run.denies_present(run.source, wanted),
        lambda: _all_replicated(run, members.to_be_copied(run)),
    )


def _all_replicated(run: Run, partitions: Collection[TopicPartition]) -> Check:
    """Return whether every partition exists on the target and, if it holds data, was replicated."""
    absent = sorted(set(partitions) - set(run.copied_by(run.flow)))
    if absent:
        shown = ", ".join(map(str, absent[:5]))
        detail = (
            f"{shown} on {run.source} is missing on {run.target}: wait until the flow has created it there, then "
            "trigger a new run"
        )
        return Check("all_partitions_replicated", "failed", detail)
    without = never_replicated(run, partitions)
    if not without:
        return Check(
            "all_partitions_replicated",
            "ok",
            f"each of {len(partitions)} partitions of {run.source} is replicated or empty",
        )
    shown = ", ".join(map(str, without[:5]))
    return Check(
        "all_partitions_replicated",
        "failed",
        f"{shown} holds records on {run.source}, but {run.flow} has no offset in it, so none of them is copied. A new "
        "partition is found by the flow after a while: wait for that, then trigger a new run",
    )


def never_replicated(run: Run, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions with data in which the flow has no offset.

    A flow may be slow to return positions, so it is asked only about partitions whose copy is empty. All others are
    compared record by record before the hand-over. The first record of a partition may be in flight, so the flow gets a
    moment, unless the run must not wait for the source.
    """
    ends = run.copies_by(run.flow).topics.high_watermarks(partitions)
    blank = [partition for partition in partitions if ends[partition] == 0]
    topics = run.operator(run.source).topics
    starts, stable = topics.log_starts(blank), topics.last_stable_offsets(blank)
    ranges = {p: OffsetRange(starts[p], stable[p]) for p in blank if starts[p] < stable[p]}
    with_data = {record.topic_partition for record in run.clients.cluster(run.source, "audit").log.read(ranges)}
    if not with_data:
        return []

    def without_position() -> list[TopicPartition]:
        positions = run.clients.replicator(run.flow).positions()
        return sorted(partition for partition in with_data if partition not in positions)

    seconds = run.source_policy.seconds_for_source(ARRIVAL_SECONDS)
    return still_missing(without_position, clock=run.clock, seconds=seconds)
