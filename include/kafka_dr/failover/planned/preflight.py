"""Find out whether a planned failover would be safe, and write down what its approval would be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals import decision
from kafka_dr.failover.past_outages import predicted
from kafka_dr.failover.planned.checks import preflight_checks
from kafka_dr.group_offsets import group_costs
from kafka_dr.outcomes import Check
from kafka_dr.replication.moving import data_ends
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Check everything that has to hold before an approval is asked for."""
    return preflight_checks(run, closely=True)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("write the decision facts, their digest and the measurements to the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Put facts and measurements together; nothing on any cluster is changed."""
    facts = decision.facts(run, run.checks)
    return {
        "decision": facts,
        "digest": decision.digest_of(facts),
        "measurements": measured(run),
    }


def measured(run: Run) -> dict[str, Any]:
    """Return figures for the approver and the report; for information; not covered by the approval.

    Needs the answers of the checks in ``run.checks``.
    """
    partitions = run.partitions(run.source)
    held = run.operator(run.source).held_back.look(partitions)
    positions = run.clients.replicator(run.flow).positions()
    # If only transaction markers and aborted records are in between, no record waits to be copied.
    with_data = data_ends(run.clients.cluster(run.source, "audit"), positions, held.stable)
    uncopied = held.offsets + sum(max(0, end - positions.get(p, 0)) for p, end in with_data.items())
    return {
        "partitions": len(partitions),
        "records_not_yet_copied_at_most": uncopied,
        "open_transactions": len(run.operator(run.source).transactions.open()),
        "predicted_write_outage": predicted(run).to_json(),
        "objective_write_outage_seconds": run.group.objectives.write_outage_seconds,
        "groups": _groups(run),
    }


def _groups(run: Run) -> list[dict[str, Any]]:
    """Return what the failover would cost each group, from what the checks of this step found."""
    rows = next((check.facts["groups"] for check in run.checks if check.name == "offsets_preview"), ())
    return group_costs.costs(group_costs.decided(run.checks), ({**row, "class": row["verdict"]} for row in rows))
