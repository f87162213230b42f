"""Say what copies the topics now, and seal the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.outcomes import Check
from kafka_dr.register.taken_over import RELEASE_ENDS
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("keep what copies the topics now, and seal the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Keep it in the journal."""
    claim, handed = run.fact("claim"), run.fact(RELEASE_ENDS)
    measured = {"handed_back_to": handed["to"], "handed_back_at": handed["at"]}
    run.write_fact("measured", measured, needed_on=[run.source])
    return {**measured, "approved_by": claim["approved_by"]}


def prove(run: Run) -> Sequence[Check]:
    """The facts are in the journal."""
    kept = run.clients.register(run.source).facts(run.group.name, run.request.run).get("measured")
    said = f"what was done is in the journal of {run.source}"
    wrong = f"the journal of {run.source} has no fact measured of run {run.request.run}: run the step again"
    return (Check.that("measurements_kept", bool(kept), said if kept else wrong),)
