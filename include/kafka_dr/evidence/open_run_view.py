"""The first lines of the status page: what waits for a person, and how far a run is, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr.evidence.ages import age_of
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.view_model import StepView
from kafka_dr.watch_results import OpenRun

#: What a reader is shown of outcomes that are not words.
_WORDS = {"would_do": "checked only"}


@dataclass(frozen=True, slots=True)
class OpenedRuns:
    """The runs that are open, each with what its evidence has recorded, or why that cannot be read.

    :param problem: why not all of them are known; empty if they are
    """

    runs: tuple[tuple[OpenRun, Sequence[StepView] | Exception], ...] = ()
    problem: str = ""


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
    :param steps: what is recorded of it, in order
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


def open_run_line(
    found: OpenRun,
    steps: Sequence[StepView] | Exception,
    now: datetime,
    *,
    run_href: str,
    evidence_href: str,
    reader: str = "",
) -> OpenRunLine:
    """Return the line of a run.

    :param steps: what its evidence has recorded, or why that cannot be read
    :param now: UTC
    :param run_href: where it is answered
    :param reader: the name of who reads the page; empty where that is not known
    """
    word, colour, said = _state(found, now)
    may_answer = not reader or reader in found.people
    if found.is_waiting(now) and not may_answer:
        word = "WAITS FOR OTHERS"
        said = f"{said} You are {reader} and were not asked, so Airflow would refuse your answer: Access Denied."
    if isinstance(steps, Exception):
        shown: tuple[OpenStep, ...] = (OpenStep("Steps", "unknown", f"UNKNOWN: {steps}"),)
    else:
        shown = tuple(map(_step, steps))
    waiting = found.is_waiting(now)
    if waiting and shown and not isinstance(steps, Exception):
        # The question is what is recorded last; that it was asked does not mean that the step is done.
        shown = (*shown[:-1], OpenStep(shown[-1].title, "unknown", "waits for an answer"))
    return OpenRunLine(found.group, word, colour, said, found.run, run_href, evidence_href, waiting, shown, may_answer)


def _state(found: OpenRun, now: datetime) -> tuple[str, StatusColour, str]:
    if found.dry_run:
        return "DRY RUN", "good", f"{found.question} Began {age_of(now - found.asked_at)}."
    asked = f"{found.question} Asked {age_of(now - found.asked_at)}"
    if found.answered_by:
        return "RUNNING", "warn", f"{asked}, answered by {found.answered_by}."
    until = f"{found.expires_at.astimezone(UTC):%H:%M} UTC"
    if not found.is_waiting(now):
        return (
            "EXPIRED",
            "unknown",
            f"{asked}, nobody answered until {until}. A new run asks again.",
        )
    minutes = int((found.expires_at - now).total_seconds() // 60)
    return "WAITS FOR YOU", "bad", f"{asked}. {' or '.join(found.people)} may answer until {until}, {minutes} min left."


def _step(step: StepView) -> OpenStep:
    seconds = f" in {step.seconds:.1f} s" if step.seconds is not None else ""
    return OpenStep(step.title, step.colour, f"{_WORDS.get(step.outcome, step.outcome)}{seconds}")
