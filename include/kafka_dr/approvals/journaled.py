"""Questions and answers in the register. Only an answer that is journaled there counts; evidence holds a copy of it.

A run can be asked about more than once, so questions are numbered. Each question and each answer is a fact of its own:
``question.1``, ``answer.1``, ``question.2`` and so on, and for the second approval ``second_question.1``. Neither ever
changes: the first answer to a question is final. They are written with the operator's credentials, to the register
that decides before the claim. Runs that never claim keep them: they are small, and show who was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from kafka_dr.causes import cause
from kafka_dr.codec import NotDecoded, StoredDocument, stored
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.evidence.canonical import digest
from kafka_dr.people import Person
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run

T = TypeVar("T")

#: Who verified an answer without Airflow, as it continues "verified by …".
BY_KEY = "a key"
BY_NOBODY = "nobody (break glass)"

#: The facts, by approval; each name gets a number.
QUESTIONS = {StepName.APPROVAL: "question", StepName.SECOND_APPROVAL: "second_question"}
ANSWERS = {StepName.APPROVAL: "answer", StepName.SECOND_APPROVAL: "second_answer"}
#: As much of a question's digest as people see. Nobody finds another question with the same 128 bits.
_NAME = 32


@dataclass(frozen=True, slots=True)
class AskedQuestion(StoredDocument):
    """A question as it is journaled.

    :param attempt: its number among the questions of this approval of the run, from 1
    :param digest: of everything that was shown
    :param facts_digest: of the decision facts that were shown
    :param approvers: the only people whose answer counts
    :param requester: the name of the person who triggered the run; empty where no person did
    :param asked_by: the id of the task instance that asks; empty without Airflow
    """

    verb: str
    attempt: int
    digest: str
    facts_digest: str
    asked_at: datetime
    expires_at: datetime
    approvers: tuple[Person, ...]
    requester: str = ""
    asked_by: str = field(default="", metadata=stored(omitted=True))

    @property
    def name(self) -> str:
        """What the question is called where people see it."""
        return question_name(self.digest)

    def is_called(self, reference: str) -> bool:
        """Return whether this is the question with a name, or the one that a task instance asks."""
        return bool(reference) and reference in (self.asked_by, self.name)

    def approver(self, person: str) -> Person | None:
        """Return the approver with an id; ``None`` if nobody with that id may answer."""
        return next((each for each in self.approvers if each.id == person), None)

    def is_open(self, at: datetime) -> bool:
        """Return whether an answer that is given at a time is in time."""
        return at < self.expires_at


@dataclass(frozen=True, slots=True)
class Answer(StoredDocument):
    """What a person answered.

    :param responder: the name by which the topology knows the person
    :param responded_at: aware, UTC
    :param digest: of the decision facts that were shown
    :param responder_id: see :class:`~kafka_dr.people.Person`; the name where it is empty
    :param verified: who says that it was this person, as it continues "verified by …"
    :param verb: of the run that it is about
    :param attempt: which question of the run it answers, from 1; 0 until it is journaled
    :param question: digest of that question
    :param requester: see :class:`AskedQuestion`
    :param signature: of an answer that is verified by a key, in base64
    """

    approved: bool
    responder: str
    responded_at: datetime
    digest: str
    reason: str = ""
    responder_id: str = ""
    verified: str = "Airflow"
    verb: str = ""
    attempt: int = 0
    question: str = ""
    requester: str = ""
    signature: str = ""

    @property
    def person(self) -> str:
        """The id of the person."""
        return self.responder_id or self.responder

    @property
    def own_digest(self) -> str:
        """The digest by which a claim names the answers that it used."""
        return digest(self.to_json())


@dataclass(frozen=True, slots=True)
class ApprovalJournal:
    """Where the questions and answers of one run are kept: one register.

    :param register: which register it is, for messages
    :param verb: what the run does; an answer about another verb does not count
    :param read: returns everything that the run has journaled
    :param add: journals a fact unless the run has one of that name, and returns the one that it has then
    """

    run: str
    verb: str
    register: str
    read: Callable[[], Mapping[str, Any]]
    add: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]

    def ask(self, question: AskedQuestion, step: StepName) -> AskedQuestion:
        """Journal a question under the next free number, and return it with that number."""
        attempt = self._count(step)
        while True:
            attempt += 1
            numbered = replace(question, verb=self.verb, attempt=attempt)
            if self.add(f"{QUESTIONS[step]}.{attempt}", numbered.to_json()) == numbered.to_json():
                return numbered

    def asked(self, step: StepName) -> AskedQuestion | None:
        """Return the newest question; ``None`` if nobody was asked, or about another verb.

        :raises NeedsPerson: it cannot be read
        """
        facts, number = self.read(), self._count(step)
        found = _read(AskedQuestion.from_json, facts.get(f"{QUESTIONS[step]}.{number}"), self)
        return found if found is not None and found.verb == self.verb else None

    def answer(self, answer: Answer, question: AskedQuestion, step: StepName) -> Answer:
        """Journal the answer to a question, and return it as it is journaled.

        :raises Refused: somebody has given another answer to this question
        """
        given = replace(answer, verb=self.verb, attempt=question.attempt, question=question.digest)
        held = _read(Answer.from_json, self.add(f"{ANSWERS[step]}.{question.attempt}", given.to_json()), self)
        if held is not None and held != given:
            word = "approved" if held.approved else "rejected"
            raise Refused(
                f"{held.responder} has {word} this question of run {self.run} at "
                f"{held.responded_at:%Y-%m-%d %H:%M:%S} UTC, and a question is answered once: trigger a new run"
            )
        return given

    def answered(self, step: StepName) -> Answer | None:
        """Return the answer to the newest question; ``None`` if nobody was asked, or nobody has answered in time.

        :raises NeedsPerson: it cannot be read
        """
        facts, question = self.read(), self.asked(step)
        if question is None:
            return None
        found = _read(Answer.from_json, facts.get(f"{ANSWERS[step]}.{question.attempt}"), self)
        if found is None or (found.question, found.verb) != (question.digest, self.verb):
            return None
        return found if question.is_open(found.responded_at) else None

    def _count(self, step: StepName) -> int:
        prefix = f"{QUESTIONS[step]}."
        numbers = [name.removeprefix(prefix) for name in self.read() if name.startswith(prefix)]
        return max((int(number) for number in numbers if number.isdigit()), default=0)


def question_name(digest: str) -> str:
    """Return what a question is called where people see it.

    :param digest: of the question
    """
    return digest[:_NAME]


def journal_of(run: Run) -> ApprovalJournal:
    """Return where the questions and answers of a run are kept: the register that decides before its claim."""
    register, group, name = run.clients.register(run.arbiter), run.group.name, run.request.run
    return ApprovalJournal(
        name,
        run.request.verb,
        run.arbiter,
        read=lambda: register.facts(group, name),
        add=lambda fact, payload: register.add_fact(group, name, fact, payload),
    )


def _read(read: Callable[[Mapping[str, Any]], T], fact: Mapping[str, Any] | None, journal: ApprovalJournal) -> T | None:
    if fact is None:
        return None
    try:
        return read(fact)
    except NotDecoded as error:
        raise NeedsPerson(
            f"the approval of run {journal.run} in the register of {journal.register} cannot be read ({cause(error)}): "
            "trigger a new run"
        ) from error
