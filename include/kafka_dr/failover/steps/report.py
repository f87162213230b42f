"""Measure what the run took, and seal its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka_dr.failover import content, measurements
from kafka_dr.failover.offset_facts import beside_mirrormaker
from kafka_dr.failover.record import Check
from kafka_dr.failover.run import Run


def check(run: Run) -> Sequence[Check]:
    """Nothing besides the register, which the runner has asked."""
    return ()


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("measure RTO, RPO, write outage and re-delivery, and seal the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Measure from the journal and from the logs themselves."""
    claim = run.fact("claim")
    verified_at = datetime.fromisoformat(run.fact("verified")["at"])
    placed = content.placed_from_json(run.fact("translations")["positions"])
    again = [position.redelivered_at_most for position in placed]
    measured = {
        "rto_seconds": between(claim["approved_at"], verified_at),
        # Every record up to the fenced ends was matched by content on the target before it opened.
        "rpo_seconds": 0.0,
        "write_outage_seconds": measurements.write_outage(run),
    }
    run.write_fact("measured", measured, needed_on=[run.target])
    return {
        **measured,
        "redelivered_at_most": None if None in again else sum(filter(None, again)),
        **beside_mirrormaker(run, placed),
        "objectives": [judged(run, name, value) for name, value in measured.items()],
        "approved_at": claim["approved_at"],
        "verified_at": verified_at,
    }


def prove(run: Run) -> Sequence[Check]:
    """What was measured is kept. A missed objective is said in the report, and is no reason to undo anything."""
    kept = run.world.register(run.target).facts(run.group.name, run.request.run).get("measured")
    said = "the figures are in the journal" if kept else "the figures are not in the journal: run the step again"
    return (Check.that("measurements_kept", bool(kept), said),)


def judged(run: Run, name: str, value: float | None) -> dict[str, Any]:
    """Return a figure beside what was promised; one that is not known is neither met nor missed."""
    limit: float = getattr(run.group.objectives, name)
    verdict = "unknown" if value is None else "met" if value <= limit else "missed"
    return {"name": name, "measured": value, "objective": limit, "verdict": verdict}


def between(start: str, end: datetime) -> float:
    """Return the seconds from a stamp to a moment."""
    return round((end - datetime.fromisoformat(start)).total_seconds(), 3)
