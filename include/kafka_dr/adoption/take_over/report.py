"""Measure how long nothing was copied, and what was approved, and seal the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.named_rows import rows_of
from kafka_dr.outcomes import Check
from kafka_dr.register.taken_over import COPY, CopyMade
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("measure how long nothing was copied and which faults of the copy stay, and seal the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Measure from the journal."""
    claim, copy, state = run.fact("claim"), CopyMade.from_json(run.fact(COPY)), run.record()
    stopped = datetime.fromisoformat(run.fact("copy_ends")["stopped_at"])
    measured = {
        "seconds_until_adopted": round((state.at - stopped).total_seconds(), 3),
        "stopped_at": stopped.isoformat(),
        "adopted_at": state.at.isoformat(),
        "faults_kept": rows_of(copy.findings, named="topic", holding="records"),
        "audit": copy.report,
    }
    run.write_fact("measured", measured, needed_on=[run.source])
    return {**measured, "approved_by": claim["approved_by"]}


def prove(run: Run) -> Sequence[Check]:
    """The figures are in the journal."""
    kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get("measured")
    said = f"the figures are in the journal of {run.source}"
    wrong = f"the journal of {run.source} has no fact measured of run {run.request.run}: run the step again"
    return (Check.that("measurements_kept", bool(kept), said if kept else wrong),)
