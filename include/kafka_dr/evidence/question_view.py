"""What the page of a question shows: what the evidence keeps of it, for the person who reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.durations import about, moment
from kafka_dr.evidence.status_colour import StatusColour, colour_of

#: The field of the sheet that answers each question, in the order in which a person decides.
_ANSWERS = {
    "Moves": "moves",
    "Lost": "lost",
    "Writes stop": "writes_stop",
    "Read again": "read_again",
    "If it fails": "on_failure",
}
#: So many of the checks that are not ok are shown before a click.
_SHOWN_CHECKS = 3
_PERMITS = "requester_may_approve in the topology permits it"
#: Where a sentence of a sheet ends and the next one begins.
_NEXT_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9*`])")
#: The outcomes that a person should not approve without reading why.
_READ_FIRST = ("failed", "unknown", "overridden")


@dataclass(frozen=True, slots=True)
class QuestionCheck:
    """A check that is not ok.

    :param open: whether its sentence is shown without a click
    """

    name: str
    outcome: str
    colour: StatusColour
    detail: str
    open: bool


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How the reader may answer, and what became of the question.

    :param api: the address at which Airflow takes the answer
    :param task: the address at which Airflow says how the task is; the answer was taken when it has ended
    :param instance: the id of the task instance that asks
    :param then: the page that shows the run
    :param dialog: the page on which Airflow itself asks
    :param reader: the name of the person
    :param allowed: whether Airflow would take an answer of this person
    :param answered: who has answered what, and when; empty while it is open
    """

    api: str
    task: str
    instance: str
    then: str
    dialog: str
    reader: str
    allowed: bool
    answered: str = ""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """Everything that the page of a question shows; texts are Markdown, as the sheet has them.

    :param asked: who asked, and when, for people
    :param written: what people wrote, each under its title
    :param answers: the first sentence of each answer
    :param rest: what else the answers say
    :param refused: why the reader may not answer; empty if that person may
    :param own: that the reader asked for the run and may approve it, too; empty if that is not so
    :param typed: what has to be typed before *Approve*; empty if nothing is deleted
    """

    group: str
    subject: str
    asked: str
    written: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, str], ...]
    rest: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    checks: tuple[QuestionCheck, ...]
    folded: tuple[QuestionCheck, ...]
    checks_ok: int
    details: tuple[str, ...]
    changes: str
    consequence: str
    destroys: str
    refused: str
    how: AnswerForm
    own: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the reader can answer."""
        return not self.refused and not self.how.answered


def build_question_view(group: str, kept: Mapping[str, Any], how: AnswerForm, now: datetime) -> QuestionView:
    """Return what the page shows.

    :param kept: the evidence of the step that asked
    :param now: UTC
    """
    facts = kept["facts"]
    asked, people = facts["asked"], [str(person["name"]) for person in facts["approvers"]]
    sheet, until = asked["sheet"], datetime.fromisoformat(asked["expires_at"])
    answers = {title: _sentences(str(sheet[name])) for title, name in _ANSWERS.items()}
    first = {title: _closed(said[0]) for title, said in answers.items()}
    left = f" · {about(until - now)} left" if until > now else " · expired"
    first["Until"] = f"{until.astimezone(UTC):%H:%M} UTC{left}"
    checks = tuple(_check(row, number) for number, row in enumerate(sheet["checks"]))
    is_own = how.reader == facts.get("requested_by")
    who = f"{facts['requested_by']} asks" if facts.get("requested_by") else "Asked"
    return QuestionView(
        group,
        str(asked["subject"]),
        f"{who}, {moment(datetime.fromisoformat(kept['started_at']), now)}",
        tuple((str(title), str(text)) for title, text in sheet["words"] if text),
        tuple((title, first[title]) for title in (*list(_ANSWERS)[:-1], "Until", "If it fails")),
        tuple((title, " ".join(said[1:])) for title, said in answers.items() if said[1:]),
        tuple(map(str, sheet["warnings"])),
        checks[:_SHOWN_CHECKS],
        checks[_SHOWN_CHECKS:],
        int(sheet["checks_ok"]),
        tuple(map(str, sheet["details"])),
        str(sheet["changes"]),
        str(sheet["consequence"]),
        str(sheet["destroys"]),
        _refused(how, people, sheet["excluded"], until, now),
        how,
        f"You asked for this run and may approve it yourself: {_PERMITS}." if how.allowed and is_own else "",
    )


def _refused(
    how: AnswerForm, people: Sequence[str], excluded: Sequence[Sequence[str]], until: datetime, now: datetime
) -> str:
    """Return why the reader may not answer, and who can."""
    if how.answered:
        return ""
    if until <= now:
        return "Nobody answered in time, so the run ends without a change. A new run asks again."
    who = f"{' or '.join(people)} can, until {until.astimezone(UTC):%H:%M} UTC."
    if how.allowed:
        return ""
    if how.reader in people:
        return f"You are {how.reader}, and your role in Airflow may not answer questions. Have it changed."
    why = next((why for name, why in excluded if name == how.reader), "were not asked")
    return f"You are {how.reader} and {why}, so you may not answer. {who}"


def _check(row: Mapping[str, Any], number: int) -> QuestionCheck:
    outcome = str(row["outcome"])
    is_open = number == 0 and outcome in _READ_FIRST
    return QuestionCheck(str(row["name"]), outcome, colour_of(outcome), str(row["detail"]), is_open)


def _sentences(said: str) -> list[str]:
    return _NEXT_SENTENCE.split(said[:1].upper() + said[1:])


def _closed(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
