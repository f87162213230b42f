"""Measure what the failback took, and what became of the stranded records."""

from __future__ import annotations

from datetime import datetime

from kafka_dr.failback.context import FailbackContext
from kafka_dr.failback.late import late_topics
from kafka_dr.runs.report import Figures, ReportStep
from kafka_dr.runs.run import Run


def _measured(run: Run) -> tuple[Figures, Figures]:
    context, claim, rescued = FailbackContext(run), run.fact("claim"), run.fact("rescued")
    state = run.register_state
    caught_up = datetime.fromisoformat(run.fact("caught_up")["at"])
    figures = {
        "mode": context.mode,
        "stranded": rescued["stranded"],
        "rescued": rescued.get("published", 0) + rescued.get("aside", 0),
        "quarantine": list(state.quarantine) if state else [],
        **({"late": [each.to_json() for each in late_topics(context.stranded, context.late)]} if context.late else {}),
        "seconds_to_caught_up": round((caught_up - datetime.fromisoformat(claim["claimed_at"])).total_seconds(), 3),
        "settled_at": state.at.isoformat() if state else "",
    }
    return figures, {"approved_by": claim["approved_by"], "kept_in": str(context.store.folder)}


REPORT = ReportStep("measure how long it took and what became of the stranded records", _measured)
