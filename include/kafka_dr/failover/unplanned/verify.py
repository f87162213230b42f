"""See that it works: a canary goes round through the route, no group has lost its place, replication is shut out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.failover.planned import open_target
from kafka_dr.failover.planned import verify as planned
from kafka_dr.failover.planned.stop_flow import replicator_refused
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

intent = planned.intent


def act(run: Run) -> Mapping[str, Any]:
    """Send the canary round. What was left behind is known when the old side is back."""
    seen = planned.send_canary(run, {})
    open_target.let_change(run)
    return seen


def prove(run: Run) -> Sequence[Check]:
    """Offsets have only moved forward, and nothing but applications writes. The old side is the next step's matter."""
    return run.at_once(lambda: planned.offsets_hold(run), lambda: replicator_refused(run))
