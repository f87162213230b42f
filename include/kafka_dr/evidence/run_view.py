"""What a run's evidence says, put in the order in which somebody asks a year later.

Whatever is missing, unreadable or not in the known words is shown as such: a page must render for a run that died
anywhere, and what is not known is never shown as good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.evidence.figures import Figure, figures
from kafka_dr.evidence.objectives import objective_results
from kafka_dr.evidence.status_colour import StatusColour, colour_of
from kafka_dr.evidence.step_files import StepFile

_DIFFERENCE = "difference"
#: What a sentence names one by one.
_MOST_NAMED = 5
#: Steps that may be the last one, and what a run is then.
_ENDS = {"report": "Completed", "plan": "Planned", "apply": "Applied"}
#: What is kept beside a run's steps and says nothing about how the run ended.
_BESIDE = frozenset({"fence_on_return", "resume"})
#: Of a step whose run went on past the point of no return without a proof: its report says what is known in the end.
WENT_ON = "unproven"
#: The proof in a record from which something was kept out.
_IS_WHOLE = "evidence_is_whole"
#: Phases of a group whose other side holds, or may hold, what never crossed.
_LEFT_BEHIND = ("unfenced", "diverged")


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check or a proof, as one row."""

    name: str
    outcome: str
    detail: str
    facts: str

    @property
    def colour(self) -> StatusColour:
        """How it looks."""
        return colour_of(self.outcome)


@dataclass(frozen=True, slots=True)
class StepView:
    """One attempt of one step, as its file tells it."""

    number: int
    step: str
    attempt: int
    file: str
    outcome: str = "unreadable"
    started_at: str = ""
    finished_at: str = ""
    seconds: float | None = None
    checks: tuple[CheckView, ...] = ()
    proofs: tuple[CheckView, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    intent: tuple[str, ...] = ()

    @property
    def colour(self) -> StatusColour:
        """How it looks."""
        return colour_of(self.outcome)

    @property
    def facts_text(self) -> str:
        """The facts as they were written, for who wants to see everything."""
        return _pretty({key: value for key, value in self.facts.items() if key != _DIFFERENCE})

    @property
    def difference(self) -> tuple[Mapping[str, Any], ...]:
        """What differs between two sides, a row each, where the step compared any."""
        return self._compared("rows")

    @property
    def access(self) -> tuple[Mapping[str, Any], ...]:
        """Who could do what otherwise after a switch, where the step asked."""
        return self._compared("access")

    def _compared(self, part: str) -> tuple[Mapping[str, Any], ...]:
        found = self.facts.get(_DIFFERENCE)
        rows = found.get(part) if isinstance(found, dict) else None
        return tuple(row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()

    @property
    def title(self) -> str:
        """The step's name for people."""
        return self.step.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class DecisionView:
    """Who said yes or no to what."""

    step: str
    who: str
    said: str
    at: str
    digest: str
    reason: str
    counted: bool

    @property
    def colour(self) -> StatusColour:
        """How it looks."""
        return colour_of(self.said) if self.counted else "unknown"


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything that the page shows."""

    group: str
    run: str
    title: str
    verdict: str
    colour: StatusColour
    started_at: str
    finished_at: str
    reason: str
    figures: tuple[Figure, ...]
    decisions: tuple[DecisionView, ...]
    steps: tuple[StepView, ...]
    earlier: tuple[StepView, ...]
    offsets: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def dry(self) -> bool:
        """Whether nothing was meant to happen."""
        return _is_dry(self.steps)

    @property
    def expired(self) -> bool:
        """Whether nobody answered in time."""
        return _has_expired(self.steps)


def build_run_view(group: str, run: str, stored: Mapping[str, bytes]) -> RunView:
    """Read the files of a run.

    :param stored: content by file name; what is not evidence of a step is passed over
    """
    attempts = sorted(_attempts(stored), key=lambda each: (each.number, each.step, each.attempt))
    latest = {(each.number, each.step): each for each in attempts}
    steps = tuple(latest.values())
    facts = _merged(steps)
    decisions = tuple(_decisions(attempts))
    verdict, colour = _verdict(steps, decisions)
    return RunView(
        group=group,
        run=run,
        title=_title(group, facts, dry=_is_dry(steps)),
        verdict=verdict,
        colour=colour,
        started_at=min((each.started_at for each in attempts if each.started_at), default=""),
        finished_at=max((each.finished_at for each in attempts if each.finished_at), default=""),
        reason=_text(facts.get("reason")),
        figures=tuple(figures(facts)),
        decisions=decisions,
        steps=steps,
        earlier=tuple(each for each in attempts if each not in steps),
        offsets=_offsets(facts),
        notes=(*_notes(facts), *_gaps(steps)),
        facts=facts,
    )


def _attempts(stored: Mapping[str, bytes]) -> Iterable[StepView]:
    for name, data in stored.items():
        if (file := StepFile.of(name)) is not None:
            yield _attempt(file, data)


def _attempt(file: StepFile, data: bytes) -> StepView:
    number, step, attempt, name = file.number, file.step, file.attempt, file.name
    try:
        said = json.loads(data)
    except ValueError as error:
        return StepView(
            number, step, attempt, name, detail=f"This file cannot be read: {error}. Its writer was cut off."
        )
    if not isinstance(said, dict):
        return StepView(number, step, attempt, name, detail="This file holds no object.")
    facts = said.get("facts")
    seconds = said.get("seconds")
    return StepView(
        number,
        step,
        attempt,
        name,
        outcome=_text(said.get("outcome")) or "unknown",
        started_at=_text(said.get("started_at")),
        finished_at=_text(said.get("finished_at")),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
        checks=_findings(said.get("checks")),
        proofs=_findings(said.get("proofs")),
        facts=facts if isinstance(facts, dict) else {},
        detail=_text(said.get("detail")),
        intent=tuple(map(_text, intent)) if isinstance(intent := said.get("intent"), list) else (),
    )


def _findings(rows: object) -> tuple[CheckView, ...]:
    if not isinstance(rows, list):
        return ()
    return tuple(
        CheckView(
            name=_text(row.get("name")),
            outcome=_text(row.get("outcome")) or "unknown",
            detail=_text(row.get("detail")),
            facts=_pretty(row.get("facts")),
        )
        for row in rows
        if isinstance(row, dict)
    )


def _merged(steps: Iterable[StepView]) -> dict[str, Any]:
    """Return the facts of all steps, those decided on among them; a later step replaces what an earlier one said."""
    merged: dict[str, Any] = {}
    for step in steps:
        decided = step.facts.get("decision")
        for facts in (decided if isinstance(decided, dict) else {}, step.facts):
            merged |= {key: value for key, value in facts.items() if value is not None}
    return merged


def _verdict(steps: Sequence[StepView], decisions: Sequence[DecisionView]) -> tuple[str, StatusColour]:
    if not steps:
        return "Nothing was recorded", "unknown"
    dry = _is_dry(steps)
    verdict, colour = _ending(steps, decisions)
    return (f"Dry run: {verdict[0].lower()}{verdict[1:]}", colour) if dry else (verdict, colour)


def _ending(steps: Sequence[StepView], decisions: Sequence[DecisionView]) -> tuple[str, StatusColour]:
    back = deciding_roll_back(steps)
    forward = [each for each in steps if each.step != "roll_back" and each.step not in _BESIDE]
    if back is not None:
        return ("Rolled back", "warn") if back.colour == "good" else ("The roll back did not finish", "bad")
    if decisions and decisions[-1].counted and decisions[-1].said == "rejected":
        return f"Rejected by {decisions[-1].who}", "warn"
    if _has_expired(steps):
        return "Expired: nobody answered in time", "warn"
    for step in forward:
        if step.colour == "bad" and step.outcome != WENT_ON:
            return f"Stopped at {step.title.lower()}: {step.outcome}", "bad"
    for step in forward:
        if step.colour == "unknown":
            return f"Unknown at {step.title.lower()}: {step.outcome}", "unknown"
    if not forward:
        return "Nothing was recorded but a roll back", "unknown"
    if forward[-1].step in _ENDS:
        return _end(forward[-1])
    return f"Not finished: the last step recorded is {forward[-1].title.lower()}", "warn"


def deciding_roll_back(steps: Iterable[StepView]) -> StepView | None:
    """Return the roll back that decided how a run ended.

    One that was refused left the run to go forward; one without facts found nothing to undo.
    """
    back = next((each for each in steps if each.step == "roll_back"), None)
    if back is None or back.outcome == "refused" or not (back.facts or back.colour != "good"):
        return None
    return back


def _has_expired(steps: Iterable[StepView]) -> bool:
    return any(step.facts.get("expired") is True for step in steps)


def _end(last: StepView) -> tuple[str, StatusColour]:
    """Say how a run ended and which promise it missed; one that left something behind is through, and not well."""
    left, verdict = last.facts.get("phase"), _ENDS[last.step]
    if left in _LEFT_BEHIND:
        verdict = f"{verdict}, {left}"
    found = objective_results(last.facts)
    said = [each.words for kind in ("missed", "unknown") for each in found if each.verdict == kind]
    verdict = f"{verdict}: {'; '.join(said)}" if said else verdict
    if any(each.verdict == "missed" for each in found):
        return verdict, "bad"
    if left in _LEFT_BEHIND:
        return verdict, "warn"
    return verdict, "unknown" if said else "good"


def _notes(facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield what a reader has to know of a run that did not wait for everything to cross."""
    if override := facts.get("override"):
        yield f"The rule was overridden: {override}."
    loss, side = facts.get("predicted_loss"), facts.get("source_side")
    if isinstance(loss, dict):
        least, as_of = loss.get("at_least_records"), loss.get("as_of")
        known = f"at least {least} records" + (f" as of {as_of}, unknown after" if as_of else "")
        yield f"Loss: {'not known' if least is None else known} ({_text(loss.get('reason'))})."
    if isinstance(side, dict):
        yield f"The side that was left: {_text(side.get('detail'))}."
    returned, flow = facts.get("returned"), facts.get("old_flow")
    if isinstance(returned, dict):
        since = returned.get("since_opening")
        many = "an unknown number of" if since is None else f"at most {since}"
        until = _text(returned.get("fenced_at"))
        yield f"After the hand-over it accepted {many} records, until it was fenced at {until}."
    yield from _left_out(facts.get("left_out"))
    if isinstance(flow, dict):
        still = "" if flow.get("stopped") is True else "not seen stopped. It is shut out of the new side: "
        yield f"The flow that was left: {still}{_text(flow.get('detail'))}."


def _left_out(rows: object) -> Iterable[str]:
    """Yield which groups were moved without their positions in topics outside the protection group."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if found:
        named = ", ".join(f"{_text(row.get('group'))} in {_text(row.get('topic'))}" for row in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        yield f"Left out, as it lies outside the protection group: the positions of {named}{more}."


def _gaps(steps: Iterable[StepView]) -> Iterable[str]:
    """Yield where evidence was refused, so that no more is kept than how the step ended."""
    for step in steps:
        for proof in step.proofs:
            if proof.name == _IS_WHOLE:
                yield f"The evidence of {step.title.lower()} is not whole: {proof.detail}"


def _is_dry(steps: Iterable[StepView]) -> bool:
    """Whether nothing was meant to happen; a dry run that was refused is one, too."""
    return any(step.outcome == "would_do" or step.facts.get("dry_run") is True for step in steps)


def _title(group: str, facts: Mapping[str, Any], *, dry: bool) -> str:
    verb = _text(facts.get("verb")).replace("_", " ") or "run"
    verb = f"dry run of a {verb}" if dry and verb != "run" else "dry run" if dry else verb
    verb = f"{verb[:1].upper()}{verb[1:]}"
    source, target = _text(facts.get("source")), _text(facts.get("target"))
    return f"{verb} of {group}" + (f", {source} → {target}" if source and target else "")


def _decisions(attempts: Iterable[StepView]) -> Iterable[DecisionView]:
    """Return every answer that was kept, also one that did not count."""
    for attempt in attempts:
        answer = attempt.facts.get("answer")
        if isinstance(answer, dict):
            yield DecisionView(
                step=attempt.title,
                who=_text(answer.get("responder")) or "nobody",
                said=_said(answer.get("approved")),
                at=_text(answer.get("responded_at")),
                digest=_text(answer.get("digest")),
                reason=_text(answer.get("reason")),
                counted=attempt.colour == "good",
            )


def _said(approved: object) -> str:
    return "approved" if approved is True else "rejected" if approved is False else "unknown"


def _offsets(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    rows = facts.get("groups")
    if not isinstance(rows, list):
        return ()
    return tuple(row for row in rows if isinstance(row, dict) and "group" in row and "topic" in row)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) if value else ""
