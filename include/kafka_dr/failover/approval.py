"""Asking a person, and judging the answer. The answer is bound to the facts by their digest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.errors import Refused
from kafka_dr.failover import group_costs
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.decision import partitions_said
from kafka_dr.failover.failback import question as failback_question
from kafka_dr.failover.record import Check, StepRecord
from kafka_dr.failover.request import RunRequest, StepName, definition, first_step
from kafka_dr.failover.run import Run
from kafka_dr.failover.unplanned.question import body as unplanned_body
from kafka_dr.failover.world import World
from kafka_dr.register import Verb

#: How far the clocks of who stamps an answer and who judges it may lie apart.
_SKEW_SECONDS = 5.0


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


def ask_approval(request: RunRequest, world: World, step: StepName = StepName.APPROVAL) -> ApprovalQuestion:
    """Make the question from the evidence of the verb's first step, and keep what is shown before anybody sees it.

    :param step: which of the verb's approvals; a second one is asked of those who did not give the first
    :raises Refused: that evidence of this run is not there, or was not good; or the first approval is not
    """
    run = Run(request, world)
    first = first_step(request.verb)
    seen = world.evidence.newest(run.group.name, request.run, first.value)
    if seen is None or seen["outcome"] != "done":
        raise Refused(f"run {request.run} has no good {first} in the evidence: there is nothing to approve")
    facts = seen["facts"]
    approvers = _may_answer(run, step)
    attempt = Attempt.start(request, world, step, definition(step, request.verb).number)
    seconds = run.group.timing.approval_expiry_seconds
    expires_at = attempt.started_at + timedelta(seconds=seconds)
    subject = _SUBJECTS.get(request.verb, _subject)(run, seen)
    body = _BODIES.get(request.verb, _body)(run, seen, expires_at)
    attempt.facts = {
        "asked": {"subject": subject, "body": body, "digest": facts["digest"], "expires_at": expires_at},
        "approvers": list(approvers),
    }
    record = attempt.end(world, "done", "asked")
    return ApprovalQuestion(subject, body, facts["digest"], approvers, expires_at, seconds, record.evidence)


def needs_second(request: RunRequest, world: World) -> bool:
    """Return whether a verb takes two different people for this group; what deletes data always does."""
    if request.verb == "failback":
        return request.mode == "rebuild"
    group = world.topology.group(request.protection_group)
    return request.verb == "unplanned_failover" and group.disaster.approvers_needed > 1


def _may_answer(run: Run, step: StepName) -> tuple[str, ...]:
    if step is not StepName.SECOND_APPROVAL:
        return run.group.approvers
    first = newest_answer(run)
    if first is None or not first.approved:
        raise Refused(f"run {run.request.run} has no first approval in the evidence: nobody is asked for a second")
    return tuple(name for name in run.group.approvers if name != first.responder)


def record_answer(request: RunRequest, world: World, answer: Answer, step: StepName = StepName.APPROVAL) -> StepRecord:
    """Keep an answer in the evidence, where the claim looks for it.

    :raises StepFailed: it is not an approver's; it is kept all the same
    """
    run = Run(request, world)
    attempt = Attempt.start(request, world, step, definition(step, request.verb).number)
    attempt.facts = {
        "answer": {
            "approved": answer.approved,
            "responder": answer.responder,
            "responded_at": answer.responded_at,
            "digest": answer.digest,
            "reason": answer.reason,
        }
    }
    allowed = answer.responder in _may_answer(run, step)
    word = "approved" if answer.approved else "rejected"
    detail = f"{word} by {answer.responder}" + ("" if allowed else ", who may not give this answer for this group")
    attempt.checks = (Check.that("responder_is_approver", allowed, detail),)
    record = attempt.end(world, "done" if allowed else "refused", detail)
    if not answer.approved:
        world.evidence.seal(run.group.name, request.run)
    return record


def record_expiry(request: RunRequest, world: World, step: StepName = StepName.APPROVAL) -> StepRecord:
    """Keep in the evidence that nobody answered in time, and seal it: the run has ended unchanged."""
    attempt = Attempt.start(request, world, step, definition(step, request.verb).number)
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


def _subject(run: Run, _seen: dict[str, Any]) -> str:
    return f"Move {run.group.name} from {run.source} to {run.target}?"


def _body(run: Run, preflight: dict[str, Any], expires_at: datetime) -> str:
    facts = preflight["facts"]
    decision, measured = facts["decision"], facts["measurements"]
    checks = "\n".join(f"| {c['name']} | {c['outcome']} | {c['detail']} |" for c in preflight["checks"])
    groups = measured.get("groups", group_costs.costs(decision["offset_classes"], ()))
    shown = {name: value for name, value in measured.items() if name != "groups"}
    figures = "\n".join(f"| {name.replace('_', ' ')} | {_figure(value)} |" for name, value in shown.items())
    return (
        f"**{run.group.name}** is active on **{run.source}** and would be active on **{run.target}**, "
        f"with {partitions_said(decision)}.\n\n"
        f"Reason given: {run.request.reason or 'none'}\n\n"
        f"Groups: {group_costs.in_words(groups)}\n\n"
        f"| check | outcome | seen |\n| --- | --- | --- |\n{checks}\n\n"
        f"| measured, not part of what is approved | |\n| --- | --- |\n{figures}\n\n"
        f"Until `open_target` every failure is rolled back; after it the run only goes forward.\n\n"
        f"Valid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the facts: `{facts['digest']}`\n"
    )


def _figure(value: object) -> object:
    """Return how a measurement is shown; one with grounds of its own says them in a sentence."""
    return value.get("sentence", value) if isinstance(value, Mapping) else value


#: What a person is shown, where it is something else than for a planned failover.
_BODIES: Mapping[Verb, Callable[[Run, dict[str, Any], datetime], str]] = {
    "unplanned_failover": unplanned_body,
    "failback": failback_question.body,
}
_SUBJECTS: Mapping[Verb, Callable[[Run, dict[str, Any]], str]] = {"failback": failback_question.subject}
