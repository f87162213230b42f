"""What the approver of a planned failover is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet, begins, clock, read_again, subject
from kafka_dr.approvals.decision import partitions_said
from kafka_dr.failover.planned import copy_first
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
        moves=f"**{group}** goes from **{source}** to **{target}**, with {partitions_said(decision)}{_further(run)}",
        lost=f"nothing: {target} opens only when it has every record of {source}. {_waiting(measured, seen)}",
        writes_stop=". ".join(filter(None, (_outage(measured), markdown(copy_first.question(run))))),
        read_again=again,
        on_failure="before `open_target` it is rolled back, after it only finished",
        warnings=begins(decision),
        consequence="starts the switch",
        checks=seen["checks"],
        seen_at=str(seen.get("finished_at", "")),
        details=(*each, *_more_details(measured)),
        words=(("Reason, as the requester wrote it", run.request.reason),),
    )


def costs(run: Run, facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a real run would lose and cost."""
    measured = facts["measurements"]
    yield f"A real run would lose no record: {run.target} is opened only when every record is found there"
    yield f"Writes would stop for: {measured['predicted_write_outage']['sentence']}"
    yield f"Consumer groups: {group_costs.in_short(measured['groups'])}"


def _further(run: Run) -> str:
    """Say what becomes of further standbys; nothing of a pair, which has none."""
    others = [markdown(name) for name in run.group.clusters if name not in (run.source, run.target)]
    said = f"{' and '.join(others)} {'stays a standby' if len(others) == 1 else 'stay standbys'}"
    return f". {said}, copied from {markdown(run.target)} within 5 minutes after it" if others else ""


def _waiting(measured: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Say how many records are not copied yet: one figure, with its time."""
    waiting = measured.get("records_not_yet_copied_at_most", measured.get("records_not_yet_copied"))
    at = clock(seen.get("finished_at", ""))
    if waiting is None:
        return "It is not known how many records were not copied yet"
    if not waiting:
        return f"At {at} every record was copied"
    return f"At {at} at most {waiting:,} were not copied yet; they are copied while writes are refused"


def _outage(measured: Mapping[str, Any]) -> str:
    """Say how long writes stop, by earlier failovers of the group, and then on what grounds."""
    predicted = measured.get("predicted_write_outage")
    if not isinstance(predicted, Mapping):
        return "not known"
    grounds = markdown(predicted["sentence"])
    if (seconds := predicted.get("median_seconds")) is None:
        return grounds
    least, runs = "at least " if predicted["lower_bound"] else "", predicted["runs"]
    said = f"{least}{seconds:.1f} s, as in {'the last failover' if runs == 1 else f'the last {runs} failovers'}"
    return f"{markdown(said)}. **Measured**: {grounds}"


def _more_details(measured: Mapping[str, Any]) -> tuple[str, ...]:
    said = []
    if (promised := measured.get("objective_write_outage_seconds")) is not None:
        said.append(f"The objective is at most {markdown(promised)} s without writes.")
    if opened := measured.get("open_transactions"):
        said.append(f"{markdown(opened)} transactions were open. Those that are still open when writes stop are ended.")
    return (" ".join(said),) if said else ()
