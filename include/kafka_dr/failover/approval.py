"""Asking a person, and judging the answer. The answer is bound to the facts by their digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.errors import Refused
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.record import Check, StepRecord
from kafka_dr.failover.request import RunRequest, StepName, definition
from kafka_dr.failover.run import Run
from kafka_dr.failover.world import World

#: How far the clocks of who stamps an answer and who judges it may lie apart.
_SKEW_SECONDS = 5.0
_STEP = StepName.APPROVAL.value


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """What a person is asked.

    :param body: Markdown
    :param digest: of the decision facts that the body shows
    :param approvers: the only users whose answer counts
    :param expires_at: from when on an answer is too late
    """

    subject: str
    body: str
    digest: str
    approvers: tuple[str, ...]
    expires_at: datetime
    expires_after_seconds: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered.

    :param digest: of the decision facts that were shown
    :param responded_at: aware, UTC
    """

    approved: bool
    responder: str
    responded_at: datetime
    digest: str
    reason: str = ""


def ask_approval(request: RunRequest, world: World) -> ApprovalQuestion:
    """Make the question from preflight's evidence, and keep what is shown before anybody sees it.

    :raises Refused: preflight of this run is not in the evidence, or was not good
    """
    run = Run(request, world)
    preflight = world.evidence.newest(run.group.name, request.run, StepName.PREFLIGHT.value)
    if preflight is None or preflight["outcome"] != "done":
        raise Refused(f"run {request.run} has no good preflight in the evidence: there is nothing to approve")
    facts = preflight["facts"]
    attempt = Attempt.start(request, world, _STEP, definition(StepName.APPROVAL).number)
    seconds = run.group.timing.approval_expiry_seconds
    expires_at = attempt.started_at + timedelta(seconds=seconds)
    subject = f"Move {run.group.name} from {run.source} to {run.target}?"
    body = _body(run, preflight, expires_at)
    attempt.facts = {
        "asked": {"subject": subject, "body": body, "digest": facts["digest"], "expires_at": expires_at},
        "approvers": list(run.group.approvers),
    }
    record = attempt.end(world, "done", "asked")
    return ApprovalQuestion(subject, body, facts["digest"], run.group.approvers, expires_at, seconds, record.evidence)


def record_answer(request: RunRequest, world: World, answer: Answer) -> StepRecord:
    """Keep an answer in the evidence, where the claim looks for it.

    :raises StepFailed: it is not an approver's; it is kept all the same
    """
    run = Run(request, world)
    attempt = Attempt.start(request, world, _STEP, definition(StepName.APPROVAL).number)
    attempt.facts = {
        "answer": {
            "approved": answer.approved,
            "responder": answer.responder,
            "responded_at": answer.responded_at,
            "digest": answer.digest,
            "reason": answer.reason,
        }
    }
    allowed = answer.responder in run.group.approvers
    word = "approved" if answer.approved else "rejected"
    detail = f"{word} by {answer.responder}" + ("" if allowed else ", who is no approver of this group")
    attempt.checks = (Check.that("responder_is_approver", allowed, detail),)
    record = attempt.end(world, "done" if allowed else "refused", detail)
    if not answer.approved:
        world.evidence.seal(run.group.name, request.run)
    return record


def record_expiry(request: RunRequest, world: World) -> StepRecord:
    """Keep in the evidence that nobody answered in time, and seal it: the run has ended unchanged."""
    attempt = Attempt.start(request, world, _STEP, definition(StepName.APPROVAL).number)
    record = attempt.end(world, "passed", "nobody answered before the approval expired; nothing was changed")
    world.evidence.seal(request.protection_group, request.run)
    return record


def newest_answer(run: Run) -> Answer | None:
    """Return the newest answer of this run that is in the evidence, ``None`` where nobody answered."""
    return answer_of(run, StepName.APPROVAL)


def answer_of(run: Run, step: StepName) -> Answer | None:
    """Return the newest answer to one of this run's approvals, ``None`` where nobody answered."""
    kept = run.world.evidence.newest(run.group.name, run.request.run, step.value)
    found: dict[str, Any] | None = (kept or {}).get("facts", {}).get("answer")
    if found is None:
        return None
    return Answer(
        approved=bool(found["approved"]),
        responder=found["responder"],
        responded_at=datetime.fromisoformat(found["responded_at"]),
        digest=found["digest"],
        reason=found["reason"],
    )


def judge(run: Run, answer: Answer) -> Sequence[Check]:
    """Return whether an answer may be acted upon now."""
    age = (run.clock.now() - answer.responded_at).total_seconds()
    allowed = run.group.timing.approval_expiry_seconds
    approver = answer.responder in run.group.approvers
    who = f"{answer.responder} is {'' if approver else 'not '}an approver of {run.group.name}"
    fresh = -_SKEW_SECONDS <= age <= allowed
    aged = f"the approval is {age:.0f} s old, {allowed:g} s are allowed" + ("" if fresh else ": trigger a new run")
    return (
        Check.that("approved", answer.approved, "approved" if answer.approved else "it was rejected"),
        Check.that("responder_is_approver", approver, who),
        Check.that("approval_is_fresh", fresh, aged),
    )


def _body(run: Run, preflight: dict[str, Any], expires_at: datetime) -> str:
    facts = preflight["facts"]
    decision, measured = facts["decision"], facts["measurements"]
    checks = "\n".join(f"| {c['name']} | {c['outcome']} | {c['detail']} |" for c in preflight["checks"])
    classes = ", ".join(f"{group}: {kind}" for group, kind in decision["offset_classes"].items()) or "none committed"
    figures = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in measured.items())
    return (
        f"**{run.group.name}** is active on **{run.source}** and would be active on **{run.target}**, "
        f"with {sum(decision['partitions'].values())} partitions of {len(decision['partitions'])} topics.\n\n"
        f"Reason given: {run.request.reason or 'none'}\n\n"
        f"Groups: {classes}\n\n"
        f"| check | outcome | seen |\n| --- | --- | --- |\n{checks}\n\n"
        f"| measured, not part of what is approved | |\n| --- | --- |\n{figures}\n\n"
        f"Until `open_target` every failure is rolled back; after it the run only goes forward.\n\n"
        f"Valid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the facts: `{facts['digest']}`\n"
    )
