"""Take over replication that somebody else has set up, and give it back if that does not succeed."""

from __future__ import annotations

from kafka_dr.adoption.take_over import (
    claim,
    preflight,
    question,
    report,
    settle,
    start_flow,
    stop_existing,
    verify_tail,
)

__all__ = ["claim", "preflight", "question", "report", "settle", "start_flow", "stop_existing", "verify_tail"]
