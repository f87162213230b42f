"""Figures that inform: shown to the approver, written to the report, never part of what is approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.failover.run import Run, positions_from_json

#: Control records between data take offsets, so the last data record may lie some offsets before the end.
_LOOK_BACK = 200
#: What the steps between fence and route cost on an idle machine, beside what depends on the load.
_STEPS_SECONDS = 2.5


def taken(run: Run) -> dict[str, Any]:
    """Measure before a switch."""
    partitions = run.partitions(run.source)
    ends = run.operator(run.source).topics.last_stable_offsets(partitions)
    positions = run.world.replicator(run.flow).positions()
    behind = sum(max(0, end - positions.get(p, 0)) for p, end in ends.items())
    timing = run.group.timing
    at_most = _STEPS_SECONDS + timing.transaction_grace_seconds + timing.drain_seconds
    return {
        "partitions": len(partitions),
        "records_not_yet_copied": behind,
        "open_transactions": len(run.operator(run.source).transactions.open()),
        "predicted_write_outage_seconds": f"{_STEPS_SECONDS:g} to {at_most:g}",
        "objective_write_outage_seconds": run.group.objectives.write_outage_seconds,
    }


def write_outage(run: Run) -> float | None:
    """Return the seconds from the last record before the switch to the first after it, the longest of all partitions.

    Measured by the records' own timestamps. ``None`` while no partition has a record on the new side.
    """
    source_ends = _without_canary(run, positions_from_json(run.fact("source_ends")["ends"]))
    target_ends = _without_canary(run, positions_from_json(run.fact("target_ends")["ends"]))
    now = run.operator(run.target).topics.high_watermarks(target_ends)
    after_ranges = {
        p: OffsetRange(end, min(now[p], end + _LOOK_BACK)) for p, end in target_ends.items() if now[p] > end
    }
    starts = run.operator(run.source).topics.log_starts(source_ends)
    before_ranges = {
        p: OffsetRange(max(starts[p], end - _LOOK_BACK), end) for p, end in source_ends.items() if end > starts[p]
    }
    first = _by_partition(run, run.target, after_ranges, newest=False)
    last = _by_partition(run, run.source, before_ranges, newest=True)
    gaps = [(first[p].timestamp_ms - last[p].timestamp_ms) / 1000 for p in first.keys() & last.keys()]
    return round(max(gaps), 3) if gaps else None


def _without_canary(run: Run, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {p: end for p, end in ends.items() if p.topic != run.group.canary_topic}


def _by_partition(
    run: Run, cluster: str, ranges: Mapping[TopicPartition, OffsetRange], *, newest: bool
) -> dict[TopicPartition, Record]:
    found: dict[TopicPartition, Record] = {}
    for record in run.world.cluster(cluster, "audit").log.read(ranges):
        if newest or record.topic_partition not in found:
            found[record.topic_partition] = record
    return found
