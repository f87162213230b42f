"""Find out whether a switch would be safe, and write down what an approval of it would be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals import decision
from kafka_dr.failover import measurements
from kafka_dr.failover.planned.checks import preflight_checks
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Ask everything that has to hold before anybody is asked for an approval."""
    return preflight_checks(run, closely=True)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("write the decision facts, their digest and the measurements to the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Put facts and measurements together; nothing on any cluster is changed."""
    facts = decision.facts(run, run.checks)
    return {
        "decision": facts,
        "digest": decision.digest_of(facts),
        "measurements": measurements.taken(run),
    }


def prove(run: Run) -> Sequence[Check]:
    """Nothing was done, so there is nothing to prove."""
    return ()
