"""The first lines of the status page: what waits for a person, and how far a run is, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr.causes import cause
from kafka_dr.durations import about, age_of
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.view_model import StepView
from kafka_dr.situations.group_now import DRILL
from kafka_dr.verb_words import run_name, verb_words, with_article
from kafka_dr.watch_results import OpenRun, RunningStep

#: What a reader is shown of outcomes that are not words.
_WORDS = {"would_do": "checked only"}
#: The outcome of a question that nobody has answered yet.
WAITS = "waits for an answer"
_EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True)
class OpenedRuns:
    """The runs that are open, each with what its evidence has recorded, or why that cannot be read.

    :param problem: why not all of them are known; empty if they are
    :param running: the runs that a process executes, or executed a moment ago
    """

    runs: tuple[tuple[OpenRun, Sequence[StepView] | Exception], ...] = ()
    problem: str = ""
    running: tuple[tuple[RunningStep, Sequence[StepView] | Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step of a run that has been recorded."""

    title: str
    colour: StatusColour
    said: str


@dataclass(frozen=True, slots=True)
class OpenRunLine:
    """A run that is open.

    :param word: what it waits for, never a colour alone
    :param run_href: the run in Airflow; empty without Airflow
    :param name: the run for people
    :param steps: what is recorded of it, in order, and what runs now
    :param is_drill: whether it is a drill, whose evidence is with all drills of the group
    :param may_answer: whether the reader is one of those who were asked, or is not known
    """

    group: str
    word: str
    colour: StatusColour
    said: str
    run: str
    run_href: str
    evidence_href: str
    waiting: bool
    steps: tuple[OpenStep, ...]
    may_answer: bool = True
    name: str = ""
    is_drill: bool = False

    @property
    def evidence_link(self) -> str:
        """What the link to its evidence says."""
        return f"{self.name}: {'all drills' if self.is_drill else 'step by step'}"

    @property
    def is_answered(self) -> bool:
        """Whether it waits for nobody, and no question of it has expired."""
        return not self.waiting and self.word != _EXPIRED

    @property
    def link(self) -> str:
        """What the link to the run says."""
        if not self.waiting:
            return "The run in Airflow"
        return "Read the question and answer it" if self.may_answer else "Read the question"


def open_run_line(
    found: OpenRun,
    steps: Sequence[StepView] | Exception,
    now: datetime,
    *,
    run_href: str,
    evidence_href: str,
    running: RunningStep | None = None,
    reader: str = "",
) -> OpenRunLine:
    """Return the line of a run that has asked a person, or of a dry run.

    :param steps: what its evidence has recorded, or why that cannot be read
    :param running: what it executes; ``None`` if nothing is known of that
    :param now: UTC
    :param run_href: where it is answered
    :param reader: the name of who reads the page; empty where that is not known
    """
    word, colour, said = _state(found, now)
    may_answer = not reader or reader in found.people
    if found.is_waiting(now) and not may_answer:
        word = "WAITS FOR OTHERS"
        said = f"{said} You are {reader} and were not asked, so Airflow would refuse your answer: Access Denied."
    shown = _steps(steps)
    waiting = found.is_waiting(now)
    if waiting and shown and not isinstance(steps, Exception):
        # The question is what is recorded last; that it was asked does not mean that the step is done.
        shown = (*shown[:-1], OpenStep(shown[-1].title, "unknown", WAITS))
    name = run_name(found.dag_id, found.asked_at, found.by, now=now)
    if running is not None and not waiting:
        word, colour = (word, colour) if found.dry_run else _executed(running, now)
        shown = (*shown, _now(running, now))
    return OpenRunLine(
        found.group, word, colour, said, found.run, run_href, evidence_href, waiting, shown, may_answer, name
    )


def may_answer(run: str, lines: Iterable[OpenRunLine]) -> bool:
    """Return whether the reader may answer the question of a run; of a run that is not open that is not known."""
    return all(each.may_answer for each in lines if each.run == run)


def running_line(
    running: RunningStep, steps: Sequence[StepView] | Exception, now: datetime, *, run_href: str, evidence_href: str
) -> OpenRunLine:
    """Return the line of a run that has asked nobody yet.

    :param steps: what its evidence has recorded, or why that cannot be read
    :param now: UTC
    """
    word, colour = _executed(running, now)
    verb = verb_words(running.verb)
    verb = f"A dry run of {with_article(verb)}" if running.dry_run else verb
    said = f"{verb}. {running.sentence(now).rstrip('.')}."
    said = f"{said[:1].upper()}{said[1:]}"
    shown, name = (*_steps(steps), _now(running, now)), run_name(running.verb, running.began_at, now=now)
    return OpenRunLine(
        running.group,
        word,
        colour,
        said,
        running.run,
        run_href,
        evidence_href,
        False,
        shown,
        name=name,
        is_drill=running.verb == DRILL,
    )


def running_step(running: RunningStep, now: datetime) -> tuple[str, StatusColour, str]:
    """Return a word, its colour and a sentence about what a run executes.

    :param now: UTC
    """
    return (*_executed(running, now), running.sentence(now))


def _executed(running: RunningStep, now: datetime) -> tuple[str, StatusColour]:
    if running.is_silent(now):
        return "NO SIGN OF LIFE", "bad"
    if running.ended_at is not None and not running.good:
        return "FAILED", "bad"
    return ("DRY RUN", "good") if running.dry_run else ("RUNNING", "warn")


def _now(running: RunningStep, now: datetime) -> OpenStep:
    colour = _executed(running, now)[1]
    title = "Now" if running.ended_at is None else "Last"
    return OpenStep(title, "warn" if colour == "good" else colour, running.sentence(now))


def _steps(steps: Sequence[StepView] | Exception) -> tuple[OpenStep, ...]:
    if isinstance(steps, Exception):
        return (OpenStep("Steps", "unknown", f"UNKNOWN: {cause(steps)}"),)
    return tuple(map(_step, steps))


def _state(found: OpenRun, now: datetime) -> tuple[str, StatusColour, str]:
    if found.dry_run:
        return "DRY RUN", "good", f"{found.question} Began {age_of(now - found.asked_at)}."
    asked = f"{found.question} Asked {age_of(now - found.asked_at)}"
    if found.answered_by:
        return "RUNNING", "warn", f"{asked}, answered by {found.answered_by}."
    until = f"{found.expires_at.astimezone(UTC):%H:%M} UTC"
    if not found.is_waiting(now):
        return (
            _EXPIRED,
            "unknown",
            f"{asked}, nobody answered until {until}. A new run asks again.",
        )
    return (
        "WAITS FOR YOU",
        "bad",
        f"{asked}. {' or '.join(found.people)} may answer until {until}, {about(found.expires_at - now)} left.",
    )


def _step(step: StepView) -> OpenStep:
    seconds = f" in {step.seconds:.1f} s" if step.seconds is not None else ""
    return OpenStep(step.title, step.colour, f"{_WORDS.get(step.outcome, step.outcome)}{seconds}")
