"""Measure RTO and what is known of the loss, and seal the evidence of the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kafka_dr.checks.topic_layout import old_cluster_unchanged
from kafka_dr.failover import recovery
from kafka_dr.failover.planned.open_target import applications_let_in
from kafka_dr.failover.planned.report import of_failover
from kafka_dr.failover.unplanned import fetch, last_known, special_readers
from kafka_dr.failover.unplanned.cut_over_groups import left_out
from kafka_dr.failover.unplanned.old_flow import OldFlow, look_at_old_flow
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.offsets.translate.answers import translations_from_json
from kafka_dr.outcomes import Check
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.runs.report import Figures, ReportStep
from kafka_dr.runs.run import Run


def _measured(run: Run) -> tuple[Figures, Figures]:
    """Measure from the journal. The real loss is known when the source answers again; until then only a lower bound."""
    source_state = SourceState.of(run.journal)
    recovered = recovery.of_unplanned(run, datetime.fromisoformat(run.fact("verified")["at"]))
    measured = {
        "rto_seconds": recovered.seconds(run.group.objectives.rto_from),
        "rpo_seconds": 0.0 if source_state.drained else None,
    }
    fetched = run.journal.get(fetch.FETCHED, {})
    copied = CopyReached.from_json(run.fact(UNVERIFIED)).copied
    loss = last_known.loss(run, fetch.copied_by_survivors(fetched, copied))
    if source_state.drained:
        loss = {"at_least_records": 0, "as_of": None, "reason": source_state.detail}
    return {**measured, "predicted_loss": loss}, {
        "lost_at_least": loss["at_least_records"],
        "phase": str(run.register_state.phase) if run.register_state else None,
        "source_side": source_state.to_json(),
        "returned": run.journal.get("returned"),
        **({"from_other_standbys": said} if (said := fetch.sentences(run, fetched)) else {}),
        "old_flow": _old_flow(run).to_json(),
        **left_out(run),
        "left_to_do": special_readers.rows(run),
        "override": run.fact("claim")["override"],
        **of_failover(run, measured, recovered, translations_from_json(run.fact("translations"))),
    }


def _proves(run: Run) -> Sequence[Check]:
    """Applications are let in, and a drained source has not changed since."""
    unchanged = (old_cluster_unchanged(run),) if SourceState.of(run.journal).drained else ()
    return (*applications_let_in(run), *unchanged)


def _old_flow(run: Run) -> OldFlow:
    """Return the state of the old flow; if it was not seen stopped, it is looked at once more."""
    before = run.journal.get("old_flow", {})
    if before.get("stopped"):
        return OldFlow(True, str(before["detail"]))
    return look_at_old_flow(run)


REPORT = ReportStep("measure RTO, write what is known and unknown of the loss", _measured, _proves)
