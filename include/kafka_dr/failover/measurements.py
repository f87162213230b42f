"""Figures that inform: shown to the approver, written to the report, never part of what is approved."""

from __future__ import annotations

from typing import Any

from kafka_dr.failover.past_outages import predicted
from kafka_dr.failover.run import Run


def taken(run: Run) -> dict[str, Any]:
    """Measure before a switch."""
    partitions = run.partitions(run.source)
    ends = run.operator(run.source).topics.last_stable_offsets(partitions)
    positions = run.world.replicator(run.flow).positions()
    behind = sum(max(0, end - positions.get(p, 0)) for p, end in ends.items())
    return {
        "partitions": len(partitions),
        "records_not_yet_copied": behind,
        "open_transactions": len(run.operator(run.source).transactions.open()),
        "predicted_write_outage": predicted(run).to_json(),
        "objective_write_outage_seconds": run.group.objectives.write_outage_seconds,
    }
