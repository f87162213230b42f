"""Find out whether a group can be released. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.un_adopt import decision
from kafka_dr.adoption.un_adopt.checks import release_checks
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.approvals.decision import digest_of
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Ask everything that has to hold."""
    return release_checks(ReleaseContext(run))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"show the approvers what copies {run.group.name} after its release",)


def act(run: Run) -> Mapping[str, Any]:
    """Put decision facts and measurements together; nothing on any cluster is changed."""
    context = ReleaseContext(run)
    decided = decision.facts(context, run.checks)
    return {"decision": decided, "digest": digest_of(decided), "measurements": decision.measured(context)}
