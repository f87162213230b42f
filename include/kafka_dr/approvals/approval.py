"""Asking a person, and judging the answer. The answer is bound to the facts by their digest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.approvals.journaled import BY_NOBODY, Answer, ApprovalJournal, AskedQuestion, journal_of
from kafka_dr.approvals.who_may_answer import declared, four_eyes
from kafka_dr.durations import duration
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.evidence.canonical import digest
from kafka_dr.outcomes import Check
from kafka_dr.people import Person
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepOutcome, StepRecord
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
    :param sheet: what all of it is made from
    :param name: what the register calls the question, where people see it; empty until it is kept
    :param digest: of the decision facts that the body shows
    :param approvers: the only people whose answer counts
    :param expires_at: from when on an answer is too late
    """

    subject: str
    body: str
    digest: str
    approvers: tuple[Person, ...]
    expires_at: datetime
    expires_after_seconds: float
    evidence: str
    sheet: Sheet
    written: str = ""
    name: str = ""

    @classmethod
    def of(
        cls,
        sheet: Sheet,
        *,
        page: str,
        digest: str,
        approvers: tuple[Person, ...],
        expires_at: datetime,
        expires_after_seconds: float,
    ) -> ApprovalQuestion:
        """Return what a sheet asks. It is in no evidence yet: see :meth:`kept`.

        :param page: where the evidence is shown
        """
        body = sheet.body(expires_at=expires_at, digest=digest, page=page)
        said = (sheet.subject, body, digest, approvers, expires_at, expires_after_seconds, "")
        return cls(*said, sheet, sheet.written())

    def dialog(self, page: str) -> str:
        """Return what Airflow shows, as Markdown: the same as our page, cut to fit, with what ties the answer to it.

        :param page: the address of the page that shows all of it
        """
        names = [person.name for person in self.approvers]
        return self.sheet.dialog(expires_at=self.expires_at, approvers=names, page=page, name=self.name)

    def kept(
        self,
        attempt: Attempt,
        clients: Clients,
        journal: ApprovalJournal,
        step: StepName = StepName.APPROVAL,
        *,
        requester: str = "",
        asked_by: str = "",
    ) -> ApprovalQuestion:
        """Journal the question and write it to the evidence before anybody sees it; return it with the file's name.

        :param journal: the register has to take it, as it later has to take the answer
        :param requester: the name of the person who triggered the run; empty where no person did
        :param asked_by: the id of the task instance that asks; empty without Airflow
        """
        whole = f"{self.body}\n\n{self.written}" if self.written else self.body
        said = {"subject": self.subject, "body": whole, "digest": self.digest, "sheet": self.sheet.to_json()}
        asked = {**said, "expires_at": self.expires_at}
        people = [asdict(person) for person in self.approvers]
        question = AskedQuestion(
            journal.verb,
            0,
            digest({**asked, "expires_at": self.expires_at.isoformat(), "approvers": people}),
            self.digest,
            attempt.started_at,
            self.expires_at,
            self.approvers,
            requester,
            asked_by,
        )
        journaled = journal.ask(question, step)
        attempt.facts = {
            "asked": {**asked, "attempt": journaled.attempt, "question": journaled.digest},
            "approvers": people,
            "requested_by": requester,
        }
        return replace(self, evidence=attempt.end(clients, "done", "asked").evidence, name=journaled.name)


def record_answer(
    request: RunRequest, clients: Clients, answer: Answer, step: StepName = StepName.APPROVAL, *, to: str | None = None
) -> StepRecord:
    """Journal the answer to a run's newest question in the register, where the claim reads it; evidence gets a copy.

    :param to: the name of the question that was answered, or the id of the task instance that asked it. The answer is
        then about the facts of that question. ``None``: it names these facts itself
    :raises StepFailed: it does not count: it is not an approver's, it is too late, it names other facts, or another
        answer was given before. Or the register did not take it. The evidence keeps it all the same
    """
    attempt = _attempt(request, clients, step)
    return keep_answer(attempt, clients, lambda: journal_now(request, clients), answer, step, to=to)


def journal_now(request: RunRequest, clients: Clients) -> ApprovalJournal:
    """Return where the questions and answers of a run are kept, without a wait for the registers that do not decide.

    An answer counts in one register. What others say is found out by the claim, and applications wait.
    """
    run = Run(request, clients)
    run.register_state = run.read_register_state(others_seconds=0)
    return journal_of(run)


def _attempt(request: RunRequest, clients: Clients, step: StepName) -> Attempt:
    number = definition(step, request.verb).number
    return Attempt.start(request.protection_group, request.run, clients, step, number)


def keep_answer(
    attempt: Attempt,
    clients: Clients,
    journal: Callable[[], ApprovalJournal],
    answer: Answer,
    step: StepName = StepName.APPROVAL,
    *,
    to: str | None = None,
) -> StepRecord:
    """Journal an answer, and end the attempt with a copy of it.

    :param journal: returns where the run's questions and answers are
    :param to: see :func:`record_answer`
    :raises StepFailed: see :func:`record_answer`
    """
    if clients.evidence.secrets.inside(answer.reason):
        answer = replace(answer, reason="(left out: it holds a secret)")
    attempt.facts = {"answer": answer.to_json()}

    def work() -> tuple[StepOutcome, str]:
        found = journal()
        question = found.asked(step)
        bound = _bound(answer, question, to)
        attempt.checks = _counts(bound, question, found)
        if to is not None and question is not None:
            attempt.checks = (_answers_this(bound, question, to), *attempt.checks)
        if wrong := [check.detail for check in attempt.checks if not check.passes]:
            return "refused", wrong[0]
        given = found.answer(_named(bound, _needed(question)), _needed(question), step)
        attempt.facts = {"answer": given.to_json(), "register": found.register}
        return "done", _said(given)

    record = attempt.carry_out(clients, work, refusal="refused")
    if not answer.approved:
        seal_run(clients, attempt.group, attempt.run)
    return record


def _bound(answer: Answer, question: AskedQuestion | None, to: str | None) -> Answer:
    """Return an answer with the digest of the facts that its question was filed with; of none if it is another one."""
    if to is None:
        return answer
    return replace(answer, digest=question.facts_digest if question is not None and question.is_called(to) else "")


def _answers_this(answer: Answer, question: AskedQuestion, to: str) -> Check:
    """Return whether an answer is to the newest question: a rejection of an older one is not about this one, either."""
    said = "the answer is to the newest question of the run"
    if not (this := question.is_called(to)):
        said = f"{_said(answer)}, to another question than the newest one of this run: trigger a new run"
    return Check.that("answers_this_question", this, said)


def _counts(answer: Answer, question: AskedQuestion | None, journal: ApprovalJournal) -> tuple[Check, ...]:
    """Return whether an answer counts: who gave it, when, and what it is about."""
    if question is None:
        nobody = f"the register of {journal.register} has no question of run {journal.run}: trigger a new run"
        return (Check.that("question_was_asked", False, nobody),)
    allowed = question.approver(answer.person) is not None
    who = _said(answer) + ("" if allowed else _not_theirs(answer, question))
    at, until = (f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" for time in (answer.responded_at, question.expires_at))
    in_time, when = question.is_open(answer.responded_at), f"the question was open until {until}"
    if not in_time:
        when = f"{_said(answer)} at {at}, too late, as {when}: trigger a new run"
    same = not answer.approved or answer.digest == question.facts_digest
    about = "the answer carries the digest of the facts"
    if not same:
        about = f"{_said(answer)} with the digest of other facts than those of the question: trigger a new run"
        about = about if answer.digest else f"{_said(answer)} without the digest of the facts"
    return (
        Check.that("responder_is_approver", allowed, who),
        Check.that("answer_is_in_time", in_time, when),
        Check.that("answer_names_the_facts", same, about),
    )


def _not_theirs(answer: Answer, question: AskedQuestion) -> str:
    """Return why an answer is not one that this person may give."""
    if answer.responder == question.requester:
        return ", who triggered the run and may not approve it (requester_may_approve is false): trigger a new run"
    return ", who may not give this answer for this group"


def _needed(question: AskedQuestion | None) -> AskedQuestion:
    if question is None:
        raise Refused("there is no question to answer: trigger a new run")
    return question


def _named(answer: Answer, question: AskedQuestion) -> Answer:
    """Return the answer with the name by which the topology knows the person, and who triggered the run."""
    person = question.approver(answer.person) or Person(answer.responder, answer.person)
    return replace(answer, responder=person.name, responder_id=person.id, requester=question.requester)


def _said(answer: Answer) -> str:
    return f"{'approved' if answer.approved else 'rejected'} by {answer.responder}"


def record_expiry(request: RunRequest, clients: Clients, step: StepName = StepName.APPROVAL) -> StepRecord:
    """Keep in the evidence that nobody answered in time, and seal it: the run has ended unchanged."""
    attempt = _attempt(request, clients, step)
    attempt.facts = {"expired": True}
    record = attempt.end(clients, "passed", "nobody answered before the approval expired; nothing was changed")
    seal_run(clients, request.protection_group, request.run)
    return record


def record_no_answer(
    request: RunRequest, clients: Clients, because: str, step: StepName = StepName.APPROVAL
) -> StepRecord:
    """Keep in the evidence that a question gets no answer although it has not expired, and seal it.

    :param because: why no answer is known, as a clause
    :raises StepFailed: always: the run is refused
    """
    said = f"{because}. Nothing was changed: trigger a new run"
    try:
        return _attempt(request, clients, step).end(clients, "refused", said)
    finally:
        seal_run(clients, request.protection_group, request.run)


def not_answered(journal: ApprovalJournal, missing: Sequence[StepName]) -> Check:
    """Return the check of a claim that finds no answer in the register."""
    steps = ", ".join(step.value for step in missing)
    said = (
        f"the register of {journal.register} has no answer to {steps} of run {journal.run} that was given in time, and "
        "only the register counts: answer the question, or trigger a new run"
    )
    return Check("approved", "failed", said)


def not_used(run: Run) -> Check:
    """Return whether the answers of a run have not licensed a claim already: an answer is used once."""
    claim, name = run.journal.get("claim"), "answer_not_used"
    if claim is None or int(claim["epoch"]) > run.epoch:
        return Check(name, "ok", "no claim has used the answer")
    said = (
        f"run {run.request.run} has claimed the group with its answers before (epoch {claim['epoch']}; now it is "
        f"{run.epoch}), and an answer is used once: trigger a new run"
    )
    return Check(name, "failed", said)


def grounds_gone(group: str, run: str) -> NeedsPerson:
    """Return the error of a claim whose record or approval was there when it was checked, and is not any more."""
    return NeedsPerson(
        f"the record of {group} or the approval of run {run} was there when it was checked, and is gone now. Compare "
        "the registers of both clusters, then trigger a new run"
    )


def judge(context: GroupContext, answer: Answer) -> Sequence[Check]:
    """Return whether an answer that was journaled may be acted upon now."""
    age = (context.clock.now() - answer.responded_at).total_seconds()
    allowed = context.group.timing.approval_expiry_seconds
    fresh = -_SKEW_SECONDS <= age <= allowed
    aged = f"the approval is {duration(age)} old, {duration(allowed)} are allowed" + (
        "" if fresh else ": trigger a new run"
    )
    return (
        Check.that("approved", answer.approved, "approved" if answer.approved else "it was rejected"),
        _is_approver(context, answer),
        Check.that("approval_is_fresh", fresh, aged),
        four_eyes(context, answer.responder, answer.requester),
    )


def _is_approver(context: GroupContext, answer: Answer) -> Check:
    if answer.verified == BY_NOBODY:
        said = f"{answer.responder} used the break-glass approval; their identity was not verified"
        return Check("responder_is_approver", "overridden", said)
    approver = declared(context, answer.responder)
    who = f"{answer.responder} is {'' if approver else 'not '}an approver of {context.group.name}"
    return Check.that("responder_is_approver", approver, who)
