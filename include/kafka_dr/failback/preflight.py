"""Find out whether a failback is possible, and write down what its approval would be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals.decision import digest_of
from kafka_dr.evidence.audit_view import build_stranded_view
from kafka_dr.evidence.page import render_audit
from kafka_dr.failback import decision
from kafka_dr.failback.checks import failback_checks
from kafka_dr.failback.context import FailbackContext
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def check(run: Run) -> Sequence[Check]:
    """Check everything that has to hold before an approval is asked for."""
    return failback_checks(FailbackContext(run, patience_seconds=run.group.timing.step_deadline_seconds))


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("write the decision facts, their digest and the measurements to the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Put facts and measurements together; nothing on any cluster is changed."""
    context = FailbackContext(run)
    _write_page(context)
    decided = decision.facts(context, run.checks)
    return {"decision": decided, "digest": digest_of(decided), "measurements": decision.measured(context)}


def _write_page(context: FailbackContext) -> None:
    """Write a page next to the list, for a reader who opens the folder years later."""
    with context.store.folder.joinpath("stranded.html").open("wb") as file:
        file.write(render_audit(build_stranded_view(context.stranded.to_json())).encode())
