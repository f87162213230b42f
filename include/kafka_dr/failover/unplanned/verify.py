"""Check that the target works: a canary is sent by the route, no group's offset is lost, replication is fenced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.failover.planned import open_target
from kafka_dr.failover.planned import verify as planned
from kafka_dr.failover.planned.stop_flow import replicator_refused
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run

intent = planned.intent


def act(run: Run) -> Mapping[str, Any]:
    """Send a canary. Stranded records are counted when the old cluster answers again."""
    seen = planned.send_canary(run, {})
    open_target.allow_changes(run)
    return seen


def prove(run: Run) -> Sequence[Check]:
    """Offsets have only moved forward, and the replicator is refused. The next step looks at the old cluster."""
    return parallel.at_once(lambda: planned.offsets_hold(run), lambda: replicator_refused(run))
