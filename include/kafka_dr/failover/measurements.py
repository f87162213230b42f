"""Figures that inform: shown to the approver, written to the report, never part of what is approved."""

from __future__ import annotations

from typing import Any

from kafka_dr.failover.run import Run

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
