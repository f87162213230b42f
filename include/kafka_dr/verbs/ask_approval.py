"""Ask for an approval: each verb has its own question, made from the evidence of its first step."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kafka_dr.approvals.approval import ApprovalQuestion
from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.approvals.decision import digest_of
from kafka_dr.approvals.journaled import journal_of
from kafka_dr.approvals.who_may_answer import may_answer, needs_second
from kafka_dr.errors import Refused
from kafka_dr.quoting import code
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest, StepName, definition, first_step
from kafka_dr.runs.run import Run
from kafka_dr.verbs.table import VERB_PARTS


def ask_approval(
    request: RunRequest, clients: Clients, step: StepName = StepName.APPROVAL, *, page: str = "", asked_by: str = ""
) -> ApprovalQuestion:
    """Make the question from the evidence of the verb's first step, and keep it as evidence before it is shown.

    :param step: which of the verb's approvals; the person who gave the first one may not give the second
    :param page: address of the page that shows the evidence of the run
    :param asked_by: the id of the task instance that asks; empty without Airflow
    :raises Refused: the run has no such evidence, or its first step did not succeed; or the first approval is missing
    """
    run = Run(request, clients)
    first = first_step(request.verb)
    seen = clients.evidence.newest(run.group.name, request.run, first.value)
    if seen is None or seen["outcome"] != "done":
        raise Refused(
            f"the evidence of run {request.run} has no {first} with the outcome done, so there is nothing to approve: "
            f"look at the task {first}"
        )
    facts = seen["facts"]
    if digest_of(facts["decision"]) != facts["digest"]:
        raise Refused(
            f"the evidence of {first} of run {request.run} was changed: its decision facts have another digest than it "
            "says. Look for the one who changed it, and trigger a new run"
        )
    approvers = may_answer(run, step)
    attempt = Attempt.start(request.protection_group, request.run, clients, step, definition(step, request.verb).number)
    seconds = run.group.timing.approval_expiry_seconds
    expires_at = attempt.started_at + timedelta(seconds=seconds)
    question = ApprovalQuestion.of(
        _of_two(run, step, _with_requester(run, VERB_PARTS[request.verb].question.sheet(run, seen))),
        page=page,
        digest=facts["digest"],
        approvers=approvers,
        expires_at=expires_at,
        expires_after_seconds=seconds,
    )
    who = {"requester": request.requester, "asked_by": asked_by}
    return question.kept(attempt, clients, journal_of(run), step, **who)


def _with_requester(run: Run, sheet: Sheet) -> Sheet:
    """Show who triggered the run, and whether that person may approve it."""
    if not run.request.requester:
        return sheet
    may = "may approve it, too" if run.group.requester_may_approve else "may not approve it"
    sheet = replace(sheet, details=(*sheet.details, f"{code(run.request.requester)} triggered this run and {may}."))
    if run.group.requester_may_approve:
        return sheet
    return replace(sheet, excluded=(*sheet.excluded, (run.request.requester, "triggered this run")))


def _of_two(run: Run, step: StepName, sheet: Sheet) -> Sheet:
    """Say to the first of two approvers that another one is asked, and to the second one what the first one said."""
    if not needs_second(run.request, run.clients):
        return sheet
    first = journal_of(run).answered(StepName.APPROVAL) if step is StepName.SECOND_APPROVAL else None
    return sheet.second_of_two(first.responder, first.responded_at, first.reason) if first else sheet.first_of_two()
