"""The first lines of a card on the status page: could each verb be used on the group now, and what would it cost?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from kafka_dr.evidence.status_colour import StatusColour, colour_of
from kafka_dr.evidence.tables import Cell, Table
from kafka_dr.outcomes import CheckOutcome
from kafka_dr.readiness.judge import GroupReadiness
from kafka_dr.readiness.model import Answer, ReadinessCheck, ReadyVerb, VerbReadiness, worst_first

_ANSWERS: dict[Answer, tuple[str, StatusColour]] = {
    "ready": ("YES", "good"),
    "ready_with": ("YES, BUT", "warn"),
    "not_ready": ("NO", "bad"),
    "unknown": ("UNKNOWN", "unknown"),
    "not_needed": ("NOT NEEDED", "good"),
}
_SHORT: dict[ReadyVerb, str] = {
    "planned_failover": "Move now?",
    "unplanned_failover": "If it failed?",
    "failback": "Failback?",
}
#: How many checks are named without a click, and how many words of a finding the page of readiness shows.
_NAMED, _GLANCE = 3, 14
_CHECKS: dict[CheckOutcome, str] = {
    "ok": "OK",
    "failed": "FAILED",
    "unknown": "UNKNOWN",
    "warning": "WARNING",
    "excused": "EXCUSED",
    "overridden": "OVERRIDDEN",
}


@dataclass(frozen=True, slots=True)
class VerbLine:
    """Whether a verb could be used on a group now.

    :param short: the question in a few words, for a line of a list
    :param word: the answer for people, never a colour alone
    :param said: what a run would lose and cost, or the first reason why it could not begin
    :param counted: how many checks are ok, and the names of the first that are not
    :param findings: each check that is not ok, in one line
    """

    question: str
    short: str
    word: str
    colour: StatusColour
    said: str
    counted: str
    findings: tuple[str, ...]


def verb_lines(ready: GroupReadiness, register: Mapping[str, Any]) -> tuple[VerbLine, ...]:
    """Return the lines of a group, without verbs that are not needed.

    :param register: what the register said of the group when it was last read; may be empty
    """
    return tuple(_line(verb, register) for verb in ready.verbs if verb.answer != "not_needed")


@dataclass(frozen=True, slots=True)
class ReadinessFindings:
    """What the page of readiness says: what is not ok first, each thing once, whatever verbs it concerns.

    :param answers: the question of each verb that could be needed, its answer and its colour
    :param findings: what is not ok, the worst first
    :param well: the names of the checks that are ok for every verb
    """

    answers: tuple[tuple[str, str, StatusColour], ...]
    findings: tuple[str, ...]
    well: tuple[str, ...]


def readiness_findings(ready: GroupReadiness, register: Mapping[str, Any]) -> ReadinessFindings:
    """Return what the page of readiness says.

    :param register: what the register said of the group when it was last read; may be empty
    """
    needed = [verb for verb in ready.verbs if verb.answer != "not_needed"]
    found: dict[tuple[str, str], ReadinessCheck] = {}
    for check in worst_first(check for verb in needed for check in verb.checks):
        found.setdefault(check.about, check)  # of a check that several verbs ask, the worst outcome counts
    checks = worst_first(found.values())
    return ReadinessFindings(
        tuple((_question(verb.verb, register), *_ANSWERS[verb.answer]) for verb in needed),
        tuple(_shortened(_finding(check)) for check in checks if check.outcome != "ok"),
        tuple(sorted({check.name for check in checks if check.outcome == "ok"})),
    )


def _shortened(finding: str) -> str:
    """Return as much of a finding as is read at a glance; the table of its verb has all of it."""
    words = finding.split()
    return finding if len(words) <= _GLANCE else f"{' '.join(words[:_GLANCE])} …"


def readiness_tables(verbs: Iterable[VerbReadiness], register: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return every check of each verb that could be needed.

    :param verbs: as the last look kept them; they may be too old to count
    :param register: what the register said of the group when it was last read; may be empty
    """
    return tuple(
        Table(
            _question(verb.verb, register),
            ("Check", "Result", "What was found"),
            tuple(
                (Cell(check.name), Cell(_CHECKS[check.outcome], colour=colour_of(check.outcome)), Cell(check.detail))
                for check in worst_first(verb.checks)
            ),
        )
        for verb in verbs
        if verb.answer != "not_needed"
    )


def ready_word(ready: GroupReadiness) -> tuple[str, StatusColour]:
    """Return the answer for all verbs that a group could need now: the worst of them."""
    order: tuple[Answer, ...] = ("not_ready", "unknown", "ready_with", "ready", "not_needed")
    return _ANSWERS[min(ready.answers.values(), key=order.index)]


def answer_in_words(answer: Answer) -> tuple[str, StatusColour]:
    """Return the word of an answer and its colour."""
    return _ANSWERS[answer]


def _line(verb: VerbReadiness, register: Mapping[str, Any]) -> VerbLine:
    word, colour = _ANSWERS[verb.answer]
    done = len(verb.checks) - len(verb.open)
    counted = f"{done} of {len(verb.checks)} checks are ok{_names(verb.open)}"
    return VerbLine(
        _question(verb.verb, register),
        _SHORT[verb.verb],
        word,
        colour,
        _said(verb),
        counted,
        tuple(map(_finding, verb.open)),
    )


def _question(verb: ReadyVerb, register: Mapping[str, Any]) -> str:
    active, standby = (str(register.get(key) or f"the {key} cluster") for key in ("active", "standby"))
    questions: dict[ReadyVerb, str] = {
        "planned_failover": f"Can it be moved to {standby} now?",
        "unplanned_failover": f"If {active} is lost now, can {standby} take over?",
        "failback": f"Can {standby} be made a copy again?",
    }
    return questions[verb]


def _names(checks: Sequence[ReadinessCheck]) -> str:
    """Name the first checks that are not ok, so that a reader knows them without a click."""
    named = list(dict.fromkeys(check.name for check in checks))
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"; to look at: {', '.join(named[:_NAMED])}{more}" if named else ""


def _said(verb: VerbReadiness) -> str:
    first = f"{verb.open[0].name}: {verb.open[0].detail}" if verb.open else ""
    if verb.answer in ("not_ready", "unknown"):
        return first
    return ". ".join(verb.expected) or first


def _finding(check: ReadinessCheck) -> str:
    since = f" (since {check.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC)" if check.since else ""
    return f"{_CHECKS[check.outcome]}: {check.name}: {check.detail}{since}"
