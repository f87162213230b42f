"""What an approver of a planned failover is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet, clock, read_again, subject
from kafka_dr.approvals.decision import partitions_said
from kafka_dr.group_offsets import group_costs
from kafka_dr.quoting import markdown
from kafka_dr.runs.run import Run


def sheet(run: Run, seen: Mapping[str, Any]) -> Sheet:
    """Return the question and its grounds.

    :param seen: the evidence of preflight
    """
    facts = seen["facts"]
    decision, measured = facts["decision"], facts["measurements"]
    group, source, target = (markdown(name) for name in (run.group.name, run.source, run.target))
    again, each = read_again(measured.get("groups", group_costs.costs(decision["offset_classes"], ())))
    return Sheet(
        subject=subject(
            run.request.verb, f"move {run.group.name} from {run.source} to {run.target}?", dry_run=run.request.dry_run
        ),
        moves=f"**{group}** goes from **{source}** to **{target}**, with {partitions_said(decision)}",
        lost=f"nothing: {target} opens only when every record of {source} is matched there. {_waiting(measured, seen)}",
        writes_stop=_outage(measured),
        read_again=again,
        on_failure="until `open_target` every failure is rolled back; after it the run only goes forward",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(*each, *_besides(measured)),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def _waiting(measured: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Say how much has not crossed yet: one figure, with its time."""
    waiting = measured.get("records_not_yet_copied_at_most", measured.get("records_not_yet_copied"))
    at = clock(seen.get("finished_at", ""))
    if waiting is None:
        return "How much had not crossed yet is not known"
    if not waiting:
        return f"At {at} every record had crossed"
    return f"At {at} at most {waiting:,} were on their way; they cross while writes are refused"


def _outage(measured: Mapping[str, Any]) -> str:
    """Say what past switches of the group say about this one; evidence of a former version has a constant instead."""
    predicted = measured.get("predicted_write_outage")
    if isinstance(predicted, Mapping):
        return markdown(predicted["sentence"])
    seconds = measured.get("predicted_write_outage_seconds")
    return "not known" if seconds is None else markdown(f"{seconds} s")


def _besides(measured: Mapping[str, Any]) -> tuple[str, ...]:
    said = []
    if (promised := measured.get("objective_write_outage_seconds")) is not None:
        said.append(f"Promised are at most {markdown(promised)} s without writes.")
    if opened := measured.get("open_transactions"):
        said.append(f"{markdown(opened)} transactions were open: what is still open when writes stop is ended.")
    return (" ".join(said),) if said else ()
