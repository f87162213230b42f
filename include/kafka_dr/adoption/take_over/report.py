"""Measure how long nothing was copied, and which approved faults stay."""

from __future__ import annotations

from datetime import datetime

from kafka_dr.named_rows import rows_of
from kafka_dr.register.taken_over import COPY, CopyMade
from kafka_dr.runs.report import Figures, ReportStep
from kafka_dr.runs.run import Run


def _measured(run: Run) -> tuple[Figures, Figures]:
    copy, state = CopyMade.from_json(run.fact(COPY)), run.record()
    stopped = datetime.fromisoformat(run.fact("copy_ends")["stopped_at"])
    figures = {
        "seconds_until_adopted": round((state.at - stopped).total_seconds(), 3),
        "stopped_at": stopped.isoformat(),
        "adopted_at": state.at.isoformat(),
        "faults_kept": rows_of(copy.findings, named="topic", holding="records"),
        "audit": copy.report,
    }
    return figures, {"approved_by": run.fact("claim")["approved_by"]}


REPORT = ReportStep("measure how long nothing was copied and which faults of the copy stay", _measured)
