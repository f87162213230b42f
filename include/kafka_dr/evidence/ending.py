"""How a run ended, in one line: for lists of runs and for the page of a run in Airflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.evidence.loss_line import loss_line
from kafka_dr.evidence.objectives import objective_results
from kafka_dr.evidence.run_verdict import CONTINUED_UNPROVEN, deciding_roll_back
from kafka_dr.evidence.view_model import RunView, StepView
from kafka_dr.quoting import inline
from kafka_dr.watch_results import NOT_BACK

#: What a run did whose verb moves nothing.
_STAYED = {
    "take_over": "TAKEN OVER: the group is adopted, and this project replicates it",
    "un_adopt": "RELEASED: the group is not adopted any more, and nothing of it is fenced",
}
#: The longest note that Airflow accepts. The evidence has what is cut off.
MOST = 1000
#: The note of a run without evidence.
NOTHING = "NOTHING WAS RECORDED"
#: The note of a run whose evidence ends before its last step.
UNFINISHED = "NOT FINISHED"
_WORDS = {"refused": "REFUSED", "failed": "FAILED"}
_UNFINISHED = "Not finished: "
#: The step that says how a run ended: the first of these that it has.
_SAYS_IT = ("report", "apply", "apply_safe", "plan")
#: What is kept with a run and is not a step of its verb.
_NOT_OF_THE_VERB = ("roll_back", "fence_on_return", "resume")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    :param note: Markdown, one line; texts of people and clusters are escaped
    :param good: whether the run did what it was asked for; a rejected or refused run did not
    :param steps: seconds of the last try of each step, in order; none of a dry run
    :param measured: what a report measured, in seconds, by name
    :param objectives: what it was to keep, in seconds, by name
    :param record: what the register says at its end, as health keeps it; empty if it was not read
    """

    note: str
    good: bool
    steps: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    objectives: Mapping[str, float] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)


def ending(view: RunView) -> Ending:
    """Return how a run ended, according to its evidence."""
    said, good = _dry(view) if view.dry else _real_run(view)
    note = said if len(said) <= MOST else f"{said[: MOST - 1]}…"
    if view.dry:
        return Ending(note, good)
    steps = {step.step: step.seconds for step in view.steps if step.seconds is not None}
    judged = objective_results(view.facts)
    measured = {each.name: each.measured for each in judged if each.measured is not None} | _parts(view.facts)
    return Ending(note, good, steps, measured, {each.name: each.objective for each in judged})


def _parts(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return what the recovery of a failover was spent on, in seconds, by ``recovery_<part>_seconds``."""
    found = facts.get("recovery")
    parts = found.get("parts") if isinstance(found, dict) else None
    known = parts.items() if isinstance(parts, dict) else ()
    return {f"recovery_{name}_seconds": float(each) for name, each in known if isinstance(each, (int, float))}


def _dry(view: RunView) -> tuple[str, bool]:
    stopped = _stopped(view)
    if stopped is not None:
        return f"DRY RUN: would be {_at(stopped)}", False
    first = view.steps[0]
    return f"DRY RUN: {inline(first.detail.removeprefix('dry run of '))}", True


def _real_run(view: RunView) -> tuple[str, bool]:
    back = deciding_roll_back(view.steps)
    stopped = _stopped(view)
    if back is not None:
        because = "" if stopped is None else f", {_at(stopped)}"
        word = "ROLLED BACK" if back.colour == "good" else NOT_BACK
        return f"{word}: {inline(back.detail)}{because}", False
    if all(step.step in _NOT_OF_THE_VERB for step in view.steps):
        # A roll back that found nothing to undo does not show how the run ended.
        return NOTHING, False
    if view.decisions and view.decisions[-1].counted and view.decisions[-1].said == "rejected":
        last = view.decisions[-1]
        return f"REJECTED by {inline(last.who)}" + (f": {inline(last.reason)}" if last.reason else ""), False
    if view.expired:
        return "EXPIRED: nobody answered in time; nothing was changed. A new run asks again", False
    if stopped is not None:
        return _at(stopped), False
    return _finished(view)


def _finished(view: RunView) -> tuple[str, bool]:
    last = next((step for name in _SAYS_IT for step in view.steps if step.step == name), None)
    if last is None or (view.colour == "unknown" and not view.verdict.startswith("Completed")):
        return f"{UNFINISHED}: {inline(view.verdict.removeprefix(_UNFINISHED))}", False
    facts = view.facts
    if last.step != "report":
        return f"{'PLANNED' if last.step == 'plan' else 'CHANGED'}: {inline(last.detail)}", True
    if not view.verdict.startswith("Completed"):
        return f"{UNFINISHED}: {inline(view.verdict.removeprefix(_UNFINISHED))}", False
    lost, kept = _lost(facts.get("predicted_loss")), _objectives(facts)
    said = f"{'. ' if lost else ': '}{kept}" if kept else ""
    return f"{_what_it_did(facts)}{lost}{said}", True


def _what_it_did(facts: dict[str, Any]) -> str:
    if facts.get("left"):
        return f"LEFT: {inline(facts['left'])} is none of the group's clusters any more, and the group stays adopted"
    if facts.get("verb") in _STAYED:
        return _STAYED[str(facts["verb"])]
    if facts.get("verb") == "failback":
        kept, again = facts.get("stranded"), facts.get("rescued")
        return (
            f"COPY AGAIN: {inline(facts.get('target'))} is a copy of {inline(facts.get('source'))} again, by "
            f"{inline(facts.get('mode'))}; {inline(kept)} stranded records kept, {inline(again)} published again"
            f"{_late(facts.get('late'))}"
        )
    phase = facts.get("phase")
    left = f", {inline(phase)}" if phase in ("unfenced", "diverged") else ""
    return f"MOVED to {inline(facts.get('target'))}{left}"


def _late(topics: object) -> str:
    """Say how many records of a lost cluster arrived late, and how many were passed over; empty if none could."""
    rows = [row for row in topics if isinstance(row, dict)] if isinstance(topics, list) else []
    if not rows:
        return ""
    arrived = sum(int(row.get("records") or 0) for row in rows if row.get("choice") == "deliver")
    written = sum(int(row.get("written_since") or 0) for row in rows)
    return f"; {arrived} of them arrived late, {written} have keys that were written since"


def _lost(loss: object) -> str:
    return f". Lost: {inline(loss_line(loss))}" if isinstance(loss, dict) else ""


def _objectives(facts: dict[str, Any]) -> str:
    found = objective_results(facts)
    order = {"missed": 0, "unknown": 1, "met": 2}
    return "; ".join(each.words for each in sorted(found, key=lambda each: order[each.verdict]))


def _stopped(view: RunView) -> StepView | None:
    steps = [step for step in view.steps if step.step not in _NOT_OF_THE_VERB]
    return next(
        (step for step in steps if step.colour in ("bad", "unknown") and step.outcome != CONTINUED_UNPROVEN), None
    )


def _at(step: StepView) -> str:
    word = _WORDS.get(step.outcome, "UNKNOWN")
    return f"{word} at {step.step.replace('_', ' ')}: {inline(step.detail)}"
