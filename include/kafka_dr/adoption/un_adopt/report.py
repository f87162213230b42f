"""Say what copies the topics of a released group."""

from __future__ import annotations

from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.register.taken_over import RELEASE_ENDS
from kafka_dr.runs.report import Figures, ReportStep
from kafka_dr.runs.run import Run


def _measured(run: Run) -> tuple[Figures, Figures]:
    handed = run.fact(RELEASE_ENDS)
    if leaving := ReleaseContext(run).leaving:
        return {"left": leaving, "left_at": handed["at"]}, {"approved_by": run.fact("claim")["approved_by"]}
    figures = {"handed_back_to": handed["to"], "handed_back_at": handed["at"]}
    return figures, {"approved_by": run.fact("claim")["approved_by"]}


REPORT = ReportStep("keep what copies the topics now", _measured)
