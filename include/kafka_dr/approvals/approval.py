"""Asking a person, and judging the answer. The answer is bound to the facts by their digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.outcomes import Check
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName, definition
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import seal_run

#: How far the clock that stamps an answer and the clock that judges it may differ.
_SKEW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """What a person is asked.

    :param subject: plain text
    :param body: Markdown: the answer and its grounds
    :param written: Markdown: what people wrote, fenced; shown after everything else
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
    written: str = ""

    @classmethod
    def of(
        cls,
        sheet: Sheet,
        *,
        page: str,
        digest: str,
        approvers: tuple[str, ...],
        expires_at: datetime,
        expires_after_seconds: float,
    ) -> ApprovalQuestion:
        """Return what a sheet asks. It is in no evidence yet: see :meth:`kept`.

        :param page: where the evidence is shown
        """
        body = sheet.body(expires_at=expires_at, digest=digest, page=page)
        return cls(
            sheet.subject, body, digest, approvers, expires_at, expires_after_seconds, "", written=sheet.written()
        )

    def kept(self, attempt: Attempt, clients: Clients) -> ApprovalQuestion:
        """Write what is shown to the evidence, before anybody sees it, and return it with the name of the file."""
        whole = f"{self.body}\n\n{self.written}" if self.written else self.body
        asked = {"subject": self.subject, "body": whole, "digest": self.digest, "expires_at": self.expires_at}
        attempt.facts = {"asked": asked, "approvers": list(self.approvers)}
        return replace(self, evidence=attempt.end(clients, "done", "asked").evidence)


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


def needs_second(request: RunRequest, clients: Clients) -> bool:
    """Return whether a verb takes two different people for this group; what deletes data always does."""
    if request.verb == "failback":
        return request.mode == "rebuild"
    group = clients.topology.group(request.protection_group)
    return request.verb == "unplanned_failover" and group.disaster.approvers_needed > 1


def may_answer(run: Run, step: StepName) -> tuple[str, ...]:
    """Return the users whose answer counts.

    :raises Refused: the first approval, after which this one is asked, is not in the evidence
    """
    if step is not StepName.SECOND_APPROVAL:
        return run.group.approvers
    first = newest_answer(run, run.request.run)
    if first is None or not first.approved:
        raise Refused(
            f"run {run.request.run} has no first approval in the evidence, and the second is asked for only after it: "
            "trigger a new run"
        )
    return tuple(name for name in run.group.approvers if name != first.responder)


def record_answer(
    request: RunRequest, clients: Clients, answer: Answer, step: StepName = StepName.APPROVAL
) -> StepRecord:
    """Keep an answer in the evidence, where the claim looks for it.

    :raises StepFailed: it is not an approver's; it is kept all the same
    """
    run = Run(request, clients)
    attempt = Attempt.start(request.protection_group, request.run, clients, step, definition(step, request.verb).number)
    attempt.facts = {
        "answer": {
            "approved": answer.approved,
            "responder": answer.responder,
            "responded_at": answer.responded_at,
            "digest": answer.digest,
            "reason": answer.reason,
        }
    }
    allowed = answer.responder in may_answer(run, step)
    word = "approved" if answer.approved else "rejected"
    detail = f"{word} by {answer.responder}" + ("" if allowed else ", who may not give this answer for this group")
    named = bool(answer.digest) or not answer.approved
    said = "the answer carries the digest of the facts" if named else f"{detail} without the digest of the facts"
    attempt.checks = (
        Check.that("responder_is_approver", allowed, detail),
        Check.that("answer_names_the_facts", named, said),
    )
    record = attempt.end(clients, "done" if allowed and named else "refused", detail if named else said)
    if not answer.approved:
        seal_run(clients, run.group.name, request.run)
    return record


def record_expiry(request: RunRequest, clients: Clients, step: StepName = StepName.APPROVAL) -> StepRecord:
    """Keep in the evidence that nobody answered in time, and seal it: the run has ended unchanged."""
    attempt = Attempt.start(request.protection_group, request.run, clients, step, definition(step, request.verb).number)
    attempt.facts = {"expired": True}
    record = attempt.end(clients, "passed", "nobody answered before the approval expired; nothing was changed")
    seal_run(clients, request.protection_group, request.run)
    return record


def newest_answer(context: GroupContext, run: str) -> Answer | None:
    """Return the newest answer to a run's first approval, ``None`` where nobody answered.

    :param run: the id of the run
    """
    return answer_of(context, run, StepName.APPROVAL)


def answer_of(context: GroupContext, run: str, step: StepName) -> Answer | None:
    """Return the newest answer to one of a run's approvals, ``None`` where nobody answered.

    :param run: the id of the run
    """
    kept = context.clients.evidence.newest(context.group.name, run, step.value)
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


def grounds_gone(group: str, run: str) -> NeedsPerson:
    """Return the error of a claim whose record or approval was there when it was checked, and is not any more."""
    return NeedsPerson(
        f"the record of {group} or the approval of run {run} was there when it was checked, and is gone now. Compare "
        "the registers and the evidence, then trigger a new run"
    )


def judge(context: GroupContext, answer: Answer) -> Sequence[Check]:
    """Return whether an answer may be acted upon now."""
    age = (context.clock.now() - answer.responded_at).total_seconds()
    allowed = context.group.timing.approval_expiry_seconds
    approver = answer.responder in context.group.approvers
    who = f"{answer.responder} is {'' if approver else 'not '}an approver of {context.group.name}"
    fresh = -_SKEW_SECONDS <= age <= allowed
    aged = f"the approval is {age:.0f} s old, {allowed:g} s are allowed" + ("" if fresh else ": trigger a new run")
    return (
        Check.that("approved", answer.approved, "approved" if answer.approved else "it was rejected"),
        Check.that("responder_is_approver", approver, who),
        Check.that("approval_is_fresh", fresh, aged),
    )
