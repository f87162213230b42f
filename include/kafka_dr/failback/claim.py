"""Take the group for a failback: the active cluster's register decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.approvals import claim
from kafka_dr.approvals.journaled import Answer
from kafka_dr.errors import NeedsPerson
from kafka_dr.failback import decision
from kafka_dr.failback.checks import failback_checks
from kafka_dr.failback.context import FailbackContext
from kafka_dr.failback.late import choices_to_json
from kafka_dr.register.transitions import failback_begun
from kafka_dr.runs.run import Run


def _says(run: Run) -> tuple[str]:
    return (f"write to the registers that this failback holds {run.group.name} and makes {run.target} a copy again",)


def _decided(run: Run) -> Mapping[str, Any]:
    context = FailbackContext(run)
    return decision.facts(context, failback_checks(context))


def _facts(run: Run, answers: Sequence[Answer]) -> Mapping[str, Mapping[str, Any]]:
    context, approved = FailbackContext(run), claim.approved_facts(run, answers[0].digest)
    if approved is None:
        raise NeedsPerson(
            f"the evidence of preflight of run {run.request.run} has another digest than the one that was approved: "
            "trigger a new run"
        )
    return {
        claim.GROUNDS: {
            "mode": run.request.mode,
            "rescue": context.rescue,
            "left_by": context.failover.name,
            # Exactly these may be deleted: the approvers saw them, and they are named by their ids.
            "deletes": approved["deletes"],
            "list_sha256": approved["stranded"]["list_sha256"],
            **({"late": choices_to_json(context.late)} if context.mode == "deliver" else {}),
        }
    }


CLAIM = claim.ClaimStep(
    says=_says,
    decided=_decided,
    begun=lambda run, signed: failback_begun(run.record(), standby=run.target, **signed),
    facts=_facts,
)
