"""Builds the view of a run from its evidence files.

A missing, unreadable or unexpected value is shown as such: the page must render for a run that died anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.durations import duration, moment
from kafka_dr.evidence.figures import figures
from kafka_dr.evidence.open_run_view import WAITS, OpenRunLine, running_step
from kafka_dr.evidence.run_verdict import has_expired, is_dry, notes_of, verdict_of
from kafka_dr.evidence.step_files import StepFile
from kafka_dr.evidence.view_model import CheckView, DecisionView, RunView, StepView, pretty, text_of
from kafka_dr.quoting import unescaped
from kafka_dr.verb_words import run_name, verb_words, with_article
from kafka_dr.watch_results import RunningStep

_SECOND_QUESTION = "second_approval"
#: A run that has recorded nothing for so long does not continue by itself.
_CONTINUES = timedelta(hours=24)


def build_run_view(group: str, run: str, stored: Mapping[str, bytes]) -> RunView:
    """Return the view of a run.

    :param stored: the content of each file of the run, by name; files that are not evidence of a step are ignored
    """
    attempts = sorted(_attempts(stored), key=lambda each: (each.number, each.step, each.attempt))
    latest = {(each.number, each.step): each for each in attempts}
    steps = tuple(latest.values())
    facts = _merged(steps)
    decisions = tuple(_decisions(attempts))
    verdict, colour = verdict_of(steps, decisions, facts)
    started = min((each.started_at for each in attempts if each.started_at), default="")
    return RunView(
        group=group,
        run=run,
        title=_title(group, facts, dry=is_dry(steps)),
        verdict=verdict,
        colour=colour,
        started_at=started,
        finished_at=max((each.finished_at for each in attempts if each.finished_at), default=""),
        reason=text_of(facts.get("reason")),
        figures=tuple(figures(facts)),
        decisions=decisions,
        steps=steps,
        earlier=tuple(each for each in attempts if each not in steps),
        offsets=_offsets(facts),
        notes=tuple(notes_of(steps, facts)),
        facts=facts,
        dry=is_dry(steps),
        expired=has_expired(steps),
        name=_name(facts, started),
    )


def with_running(view: RunView, running: RunningStep, now: datetime) -> RunView:
    """Return the view of a run with what it executes now.

    :param now: UTC
    """
    word, _, said = running_step(running, now)
    is_between = running.ended_at is not None and running.good
    view = replace(view, notes=(f"{'' if is_between else f'{word.capitalize()}: '}{said.rstrip('.')}.", *view.notes))
    if running.is_half_moved(now):
        return replace(view, verdict=f"Half moved: no process continues it since {running.title}", colour="bad")
    if running.ended_at is None and not running.is_silent(now):
        return replace(view, verdict=f"Running: {running.title}", colour="warn")
    return view


def may_continue(view: RunView, now: datetime) -> bool:
    """Return whether a run that is not listed as ended may record more.

    :param now: UTC
    """
    last = _time(view.finished_at)
    return last is not None and now - last <= _CONTINUES


def with_next(view: RunView, order: Mapping[str, Sequence[str]], now: datetime) -> RunView:
    """Return the view of a run between two steps with what comes next; of any other run, the same view.

    :param order: the names of the steps of each verb, in order
    :param now: UTC
    """
    last, steps = _time(view.finished_at), order.get(text_of(view.facts.get("verb")), ())
    if not view.verdict.startswith("Not finished") or last is None:
        return view
    done = max((number for number, each in enumerate(steps, 1) for seen in view.steps if seen.step == each), default=0)
    # Whether a second person is asked is decided when the first one has answered.
    following = steps[done : done + (2 if steps[done : done + 1] == (_SECOND_QUESTION,) else 1)] if done else ()
    title = view.steps[-1].step.replace("_", " ")
    words = f"next is {' or '.join(following).replace('_', ' ')}" if following else f"after {title}"
    said = f"No step runs: {title} ended {duration(now - last)} ago."
    notes = view.notes if view.notes and view.notes[0].lower().startswith("no step runs") else (said, *view.notes)
    return replace(view, verdict=f"Running: {words}", colour="warn", notes=notes)


def with_question(view: RunView, asked: OpenRunLine) -> RunView:
    """Return the view of a run that waits for a person; what it has recorded last is its question."""
    waits = tuple(replace(each, outcome=WAITS) for each in view.steps[-1:])
    link = (asked.link, asked.run_href)
    said, steps = f"{asked.word}: {asked.said}", (*view.steps[:-1], *waits)
    return replace(
        view, verdict="Waits for an answer", colour=asked.colour, notes=(said, *view.notes), steps=steps, question=link
    )


def with_expired_question(view: RunView, now: datetime, form: Callable[[str], str]) -> RunView:
    """Return the view of a run that recorded nothing after a question that has expired; of any other, the same view.

    :param now: UTC
    :param form: returns the address at which a run of a verb is started
    """
    asked = view.steps[-1].facts.get("asked") if view.steps else None
    until = _time(text_of(asked.get("expires_at"))) if isinstance(asked, dict) else None
    if until is None or now <= until or not view.verdict.startswith("Not finished"):
        return view
    said = (
        f"No answer was recorded until {moment(until, now)}, when the question expired. Nothing was changed. Start a "
        "new run, which asks again."
    )
    again = ("Start a new run", form(text_of(view.facts.get("verb"))))
    verdict = "Expired: no answer was recorded in time"
    return replace(view, verdict=verdict, colour="warn", notes=(said, *view.notes), question=again)


def with_ending(view: RunView, note: str) -> RunView:
    """Return the view of a run that recorded nothing of its end, as the list of ended runs has it.

    :param note: how it ended
    """
    if not view.verdict.startswith("Not finished"):
        return view
    word, _, why = unescaped(note).partition(": ")
    return replace(view, verdict=word, colour="unknown", notes=(f"{why[:1].upper()}{why[1:]}.", *view.notes))


def with_half_moved(view: RunView, said: str) -> RunView:
    """Return the view of a run that holds its group and that no program continues.

    :param said: why, and what to do first
    """
    return replace(view, verdict="Half moved: a person is needed now", colour="bad", notes=(said, *view.notes))


def _attempts(stored: Mapping[str, bytes]) -> Iterable[StepView]:
    for name, data in stored.items():
        if (file := StepFile.of(name)) is not None:
            yield _attempt(file, data)


def _attempt(file: StepFile, data: bytes) -> StepView:
    try:
        said = json.loads(data)
    except ValueError as error:
        return _unreadable(file, f"This file cannot be read: {cause(error)}. It was not written to its end.")
    if not isinstance(said, dict):
        return _unreadable(file, "This file holds no object.")
    facts, intent, seconds = said.get("facts"), said.get("intent"), said.get("seconds")
    return StepView(
        file.number,
        file.step,
        file.attempt,
        file.name,
        outcome=text_of(said.get("outcome")) or "unknown",
        started_at=text_of(said.get("started_at")),
        finished_at=text_of(said.get("finished_at")),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
        checks=_checks(said.get("checks")),
        proofs=_checks(said.get("proofs")),
        facts=facts if isinstance(facts, dict) else {},
        detail=text_of(said.get("detail")),
        intent=tuple(map(text_of, intent)) if isinstance(intent, list) else (),
    )


def _unreadable(file: StepFile, detail: str) -> StepView:
    return StepView(file.number, file.step, file.attempt, file.name, detail=detail)


def _checks(rows: object) -> tuple[CheckView, ...]:
    if not isinstance(rows, list):
        return ()
    return tuple(
        CheckView(
            name=text_of(row.get("name")),
            outcome=text_of(row.get("outcome")) or "unknown",
            detail=text_of(row.get("detail")),
            facts=pretty(row.get("facts")),
        )
        for row in rows
        if isinstance(row, dict)
    )


def _merged(steps: Iterable[StepView]) -> dict[str, Any]:
    """Return the facts of all steps, with the decision facts; a later step replaces what an earlier one said."""
    merged: dict[str, Any] = {}
    for step in steps:
        decided = step.facts.get("decision")
        for facts in (decided if isinstance(decided, dict) else {}, step.facts):
            merged |= {key: value for key, value in facts.items() if value is not None}
    return merged


def _title(group: str, facts: Mapping[str, Any], *, dry: bool) -> str:
    verb = verb_words(text_of(facts.get("verb"))) or "run"
    verb = f"dry run of {with_article(verb)}" if dry and verb != "run" else "dry run" if dry else verb
    verb = f"{verb[:1].upper()}{verb[1:]}"
    source, target = text_of(facts.get("source")), text_of(facts.get("target"))
    return f"{verb} of {group}" + (f", {source} → {target}" if source and target else "")


def _name(facts: Mapping[str, Any], started: str) -> str:
    return run_name(text_of(facts.get("verb")) or "run", _time(started), text_of(facts.get("requested_by")))


def _time(stored: str) -> datetime | None:
    """Return a stored time; ``None`` if it is none, or without a time zone."""
    try:
        found = datetime.fromisoformat(stored)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _decisions(attempts: Iterable[StepView]) -> Iterable[DecisionView]:
    """Yield every answer that was kept, also an invalid one."""
    for attempt in attempts:
        answer = attempt.facts.get("answer")
        if isinstance(answer, dict):
            yield DecisionView(
                step=attempt.title,
                who=text_of(answer.get("responder")) or "nobody",
                said=_said(answer.get("approved")),
                at=text_of(answer.get("responded_at")),
                digest=text_of(answer.get("digest")),
                reason=text_of(answer.get("reason")),
                counted=attempt.colour == "good",
            )


def _said(approved: object) -> str:
    return "approved" if approved is True else "rejected" if approved is False else "unknown"


def _offsets(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    rows = facts.get("groups")
    if not isinstance(rows, list):
        return ()
    return tuple(row for row in rows if isinstance(row, dict) and "group" in row and "topic" in row)
