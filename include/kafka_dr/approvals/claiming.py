"""What the claims of all verbs have in common: judging the answer, what was approved, and what is journaled of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_dr.approvals import approval, signed
from kafka_dr.approvals.decision import digest_of, unchanged
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run


def answer_permits(run: Run, facts: Callable[[], Mapping[str, Any]]) -> Sequence[Check]:
    """Return whether the answer is fresh, is given by an approver, and is about the facts that hold now.

    :param facts: returns the decision facts of now; not asked before there is an answer
    """
    journal = journal_of(run)
    if (answer := journal.answered(StepName.APPROVAL)) is None:
        return (approval.not_answered(journal, [StepName.APPROVAL]),)
    now = facts()
    return (
        *approval.judge(run, answer),
        signed.verified(answer, run.group, run.request.run),
        approval.not_used(run),
        unchanged(run, now, approved=(answer.digest,)),
    )


def approved_facts(run: Run, digest: str) -> Mapping[str, Any] | None:
    """Return the decision facts that were approved; ``None`` if the evidence of the preflight is not what was approved.

    :param digest: that the answer is about
    """
    kept = run.clients.evidence.newest(run.group.name, run.request.run, StepName.PREFLIGHT.value)
    decided: Mapping[str, Any] = (kept or {}).get("facts", {}).get("decision", {})
    return decided if digest_of(decided) == digest else None


def claim_fact(run: Run, state: RegisterState, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what every claim journals of its grounds.

    :param state: the record that the claim writes
    :param answers: at least one
    """
    return {
        "source": run.source,
        "target": run.target,
        "epoch": state.epoch,
        "reason": run.request.reason,
        "requested_by": run.request.requester,
        "approved_by": state.approved_by,
        "approved_at": max(answer.responded_at for answer in answers).isoformat(),
        "digest": state.evidence_sha256,
        "answers": [answer.own_digest for answer in answers],
        "claimed_at": state.at.isoformat(),
    }
