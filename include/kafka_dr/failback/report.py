"""Measure what the failback took, and seal its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.failback.context import FailbackContext
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("measure how long it took and what became of the stranded records, and seal the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Measure from the journal."""
    context, claim = FailbackContext(run), run.fact("claim")
    state = run.register_state
    caught_up = datetime.fromisoformat(run.fact("caught_up")["at"])
    measured = {
        "mode": context.mode,
        "stranded": run.fact("rescued")["stranded"],
        "rescued": run.fact("rescued").get("published", 0) + run.fact("rescued").get("aside", 0),
        "quarantine": list(state.quarantine) if state else [],
        "seconds_to_caught_up": round((caught_up - datetime.fromisoformat(claim["claimed_at"])).total_seconds(), 3),
        "settled_at": state.at.isoformat() if state else "",
    }
    run.write_fact("measured", measured, needed_on=[run.source])
    return {**measured, "approved_by": claim["approved_by"], "kept_in": str(context.store.folder)}


def prove(run: Run) -> Sequence[Check]:
    """The figures are in the journal."""
    kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get("measured")
    said = f"the figures are in the journal of {run.source}"
    wrong = f"the journal of {run.source} has no fact measured of run {run.request.run}: run the step again"
    return (Check.that("measurements_kept", bool(kept), said if kept else wrong),)
