"""How a question is answered without Airflow: by a signature, by another terminal, or by breaking the glass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from kafka_dr.approvals import signed
from kafka_dr.approvals.approval import ApprovalQuestion, record_answer, record_expiry
from kafka_dr.approvals.journaled import BY_KEY, BY_NOBODY, Answer, AskedQuestion, journal_of
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.people import UNKNOWN_PERSON, Person
from kafka_dr.quoting import block, unescaped
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.model import ProtectionGroup, Topology
from kafka_dr.waiting import wait_until

_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Answering:
    """What the person at the terminal can answer with.

    :param key: the person's own key; ``None``: somebody answers with ``approve`` in another terminal
    :param names: of a break glass: the names that were given, nobody verifies them; one for each approval
    :param agreed: whether the question is answered without typing
    """

    key: SigningKey | None = None
    names: tuple[str, ...] = ()
    agreed: bool = False

    def people(self, topology: Topology, names: Sequence[str], roles: Sequence[str]) -> tuple[Person, ...]:
        """Return who may answer: approvers with a key, and the names of a break glass.

        :param names: of approvers of the group that is asked about
        :param roles: without Airflow nobody knows who has one, so the keys of the groups that name them count
        """
        asked = [
            group
            for group in topology.protection_groups.values()
            if (tuple(group.approvers), tuple(group.approver_roles)) == (tuple(names), tuple(roles))
        ]
        keyed = {person for group in asked for person in signed.key_people(group)}
        return (*sorted(keyed), *map(unverified, self.names))

    def requester(self, group: ProtectionGroup) -> str:
        """Return who begins the run, as far as it is known."""
        if self.names:
            return "somebody at a terminal (break glass)"
        return (signed.requester_of(group, self.key) if self.key else "") or UNKNOWN_PERSON


def unverified(name: str) -> Person:
    """Return a person that nobody verifies."""
    return Person(name, f"not verified: {name}")


def obtain_answer(
    request: RunRequest,
    clients: Clients,
    step: StepName,
    question: ApprovalQuestion,
    answering: Answering,
    page: StepPage,
) -> Answer | None:
    """Show a question, and return its answer as the register has it; ``None`` if nobody answered in time.

    :raises StepFailed: the answer does not count
    """
    run = Run(request, clients)
    show_question(question.subject, question.body, question.written, page)
    answer = _given(run, step, question, answering)
    if answer is not None:
        page.show(record_answer(request, clients, answer, step))
    else:
        page.say(
            f"waiting for an approver: python -m kafka_dr approve --group {request.protection_group} "
            f"--run {request.run} --key FILE (until {question.expires_at:%H:%M:%S} UTC)"
        )
    return _answered(run, step, question)


def _given(run: Run, step: StepName, question: ApprovalQuestion, answering: Answering) -> Answer | None:
    """Return the answer of the person at the terminal; ``None`` if this person may not answer."""
    asked = journal_of(run).asked(step)
    if asked is None:
        raise Refused(f"the register of {run.arbiter} does not hold the question that was just asked: try again")
    if answering.names:
        return _break_glass(run, step, asked, answering)
    key, person = answering.key, None
    if key is not None:
        person = signed.approver_of(run.group, key)
    if key is None or person is None or asked.approver(person.id) is None:
        return None
    return sign_answer(run, asked, person, key, approved=answering.agreed or agrees(), reason="")


def _break_glass(run: Run, step: StepName, asked: AskedQuestion, answering: Answering) -> Answer:
    name = answering.names[0 if step is StepName.APPROVAL else 1]
    person = unverified(name)
    approved = answering.agreed or agrees()
    answer = Answer(approved, name, run.clock.now(), asked.facts_digest, "break glass", person.id, BY_NOBODY)
    return signed.about(answer, asked)


def sign_answer(
    run: Run, asked: AskedQuestion, person: Person, key: SigningKey, *, approved: bool, reason: str
) -> Answer:
    """Return a signed answer to a question, as the register will hold it."""
    answer = Answer(approved, person.name, run.clock.now(), asked.facts_digest, reason, person.id, BY_KEY)
    return signed.sign(signed.about(answer, asked), run.group.name, run.request.run, key)


def agrees() -> bool:
    """Ask the person at the terminal; everything but *approve* and *reject* is asked again.

    :raises Refused: the input has ended
    """
    while True:
        try:
            typed = str(typer.prompt("Type approve or reject", err=True)).strip().lower()
        except typer.Abort as error:
            raise Refused(
                "nobody typed approve or reject, so nothing was approved and nothing was changed: run the command again"
            ) from error
        if typed in ("approve", "reject"):
            return typed == "approve"


def show_question(subject: str, body: str, written: str, page: StepPage) -> None:
    """Show everything that an approver has to know, as plain text."""
    text = "\n\n".join(filter(None, (subject, body, written)))
    page.console.print(block(unescaped(text)), markup=False, highlight=False, soft_wrap=True)


def _answered(run: Run, step: StepName, question: ApprovalQuestion) -> Answer | None:
    """Wait for the answer in the register until the question expires."""
    left, journal = (question.expires_at - run.clock.now()).total_seconds(), journal_of(run)
    return wait_until(
        lambda: journal.answered(step),
        lambda answer: answer is not None,
        clock=run.clock,
        seconds=left,
        pause_seconds=_POLL_SECONDS,
    )


def expired(request: RunRequest, clients: Clients, step: StepName) -> StepRecord:
    """Keep in the evidence that nobody answered."""
    return replace(record_expiry(request, clients, step), outcome="refused")
