"""Measure RTO and what is known of the loss, and seal the evidence of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.checks.topic_layout import old_side_unchanged
from kafka_dr.failover import recovery
from kafka_dr.failover.planned import report as planned
from kafka_dr.failover.planned.open_target import applications_let_in
from kafka_dr.failover.unplanned import last_known, special_readers
from kafka_dr.failover.unplanned.cut_over_groups import left_out
from kafka_dr.failover.unplanned.old_flow import OldFlow, look_at_old_flow
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.named_rows import positions_from_json
from kafka_dr.offsets import translations_from_json
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("measure RTO, write what is known and unknown of the loss, and seal the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Measure from the journal. The real loss is known when the source answers again; until then only a lower bound."""
    claim, source_state = run.fact("claim"), SourceState.of(run.journal)
    verified_at = datetime.fromisoformat(run.fact("verified")["at"])
    placed = translations_from_json(run.fact("translations"))
    recovered = recovery.of_unplanned(run, verified_at)
    again = [position.redelivered_at_most for position in placed]
    measured = {
        "rto_seconds": recovered.seconds(run.group.objectives.rto_from),
        "rpo_seconds": 0.0 if source_state.drained else None,
    }
    loss = last_known.loss(run, positions_from_json(run.fact("unverified")["crossed"]))
    if source_state.drained:
        loss = {"at_least_records": 0, "as_of": None, "reason": source_state.detail}
    run.write_fact("measured", {**measured, "predicted_loss": loss})
    return {
        **measured,
        "predicted_loss": loss,
        "lost_at_least": loss["at_least_records"],
        "redelivered_at_most": None if None in again else sum(filter(None, again)),
        "objectives": [planned.judged(run, name, value) for name, value in measured.items()],
        "phase": str(run.register_state.phase) if run.register_state else None,
        "source_side": source_state.to_json(),
        "returned": run.journal.get("returned"),
        "old_flow": _old_flow(run).to_json(),
        **left_out(run),
        "left_to_do": special_readers.rows(run),
        "override": claim["override"],
        "rto_from": run.group.objectives.rto_from,
        "recovery": recovered.to_json(),
        "approved_at": claim["approved_at"],
        "verified_at": verified_at,
    }


def prove(run: Run) -> Sequence[Check]:
    """The figures are kept, applications are let in, and a drained source has not changed since."""
    checks = (planned.measurements_kept(run), *applications_let_in(run))
    return (*checks, old_side_unchanged(run)) if SourceState.of(run.journal).drained else checks


def _old_flow(run: Run) -> OldFlow:
    """Return the state of the old flow; if it was not seen stopped, it is looked at once more."""
    before = run.journal.get("old_flow", {})
    if before.get("stopped"):
        return OldFlow(True, str(before["detail"]))
    return look_at_old_flow(run)
