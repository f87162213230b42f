"""What a run's evidence says, put in the order in which somebody asks a year later.

Whatever is missing, unreadable or not in the known words is shown as such: a page must render for a run that died
anywhere, and what is not known is never shown as good.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["good", "warn", "bad", "unknown"]

_TONES: dict[str, Tone] = {
    **dict.fromkeys(("ok", "done", "already_done", "passed", "green", "succeeded", "success", "approved"), "good"),
    **dict.fromkeys(("exact", "stable", "on_time"), "good"),
    **dict.fromkeys(("warning", "skipped", "rolled_back", "bounded", "not_yet_seen", "pending", "dry_run"), "warn"),
    **dict.fromkeys(("failed", "error", "refused", "rejected", "blocked", "expired", "superseded", "red"), "bad"),
    **dict.fromkeys(("lost", "late", "duplicated", "reordered", "looped"), "bad"),
}
_FILE = re.compile(r"(\d+)-(.+)\.(\d+)\.json")
_FIGURES = (
    ("write_outage_seconds", "Write outage", "s"),
    ("rto_seconds", "Recovery time (RTO)", "s"),
    ("rpo_seconds", "Data at risk (RPO)", "s"),
    ("acknowledged", "Records acknowledged", ""),
    ("lost", "Lost", ""),
    ("reordered", "Reordered", ""),
    ("redelivered", "Delivered again", ""),
    ("uncommitted_at_freeze", "Uncommitted at the freeze", ""),
)


def tone_of(outcome: object) -> Tone:
    """Return how an outcome looks; a word that is not known is unknown."""
    return _TONES.get(str(outcome).lower(), "unknown")


@dataclass(frozen=True, slots=True)
class Finding:
    """A check or a proof, as one row."""

    name: str
    outcome: str
    detail: str
    facts: str

    @property
    def tone(self) -> Tone:
        """How it looks."""
        return tone_of(self.outcome)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one step, as its file tells it."""

    number: int
    step: str
    attempt: int
    file: str
    outcome: str = "unreadable"
    started_at: str = ""
    finished_at: str = ""
    seconds: float | None = None
    checks: tuple[Finding, ...] = ()
    proofs: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def tone(self) -> Tone:
        """How it looks."""
        return tone_of(self.outcome)

    @property
    def facts_text(self) -> str:
        """The facts as they were written, for who wants to see everything."""
        return _pretty(self.facts)

    @property
    def title(self) -> str:
        """The step's name for people."""
        return self.step.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that people ask for first, beside what was promised."""

    label: str
    value: str
    promised: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Decision:
    """Who said yes or no to what."""

    step: str
    who: str
    said: str
    at: str
    digest: str
    reason: str

    @property
    def tone(self) -> Tone:
        """How it looks."""
        return tone_of(self.said)


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the page shows."""

    group: str
    run: str
    title: str
    verdict: str
    tone: Tone
    started_at: str
    finished_at: str
    reason: str
    figures: tuple[Figure, ...]
    decisions: tuple[Decision, ...]
    steps: tuple[Attempt, ...]
    earlier: tuple[Attempt, ...]
    offsets: tuple[Mapping[str, Any], ...]


def tell(group: str, run: str, stored: Mapping[str, bytes]) -> Story:
    """Read the files of a run.

    :param stored: content by file name; what is not evidence of a step is passed over
    """
    attempts = sorted(_attempts(stored), key=lambda each: (each.number, each.step, each.attempt))
    latest = {(each.number, each.step): each for each in attempts}
    steps = tuple(latest.values())
    facts = _merged(steps)
    verdict, tone = _verdict(steps, dry_run=facts.get("dry_run") is True)
    return Story(
        group=group,
        run=run,
        title=_title(group, facts),
        verdict=verdict,
        tone=tone,
        started_at=min((each.started_at for each in attempts if each.started_at), default=""),
        finished_at=max((each.finished_at for each in attempts if each.finished_at), default=""),
        reason=_text(facts.get("reason")),
        figures=tuple(_figures(facts)),
        decisions=tuple(_decisions(steps)),
        steps=steps,
        earlier=tuple(each for each in attempts if each not in steps),
        offsets=_offsets(facts),
    )


def _attempts(stored: Mapping[str, bytes]) -> Iterable[Attempt]:
    for name, data in stored.items():
        if found := _FILE.fullmatch(name):
            yield _attempt(name, data, number=int(found[1]), step=found[2], attempt=int(found[3]))


def _attempt(name: str, data: bytes, *, number: int, step: str, attempt: int) -> Attempt:
    try:
        said = json.loads(data)
    except ValueError as error:
        return Attempt(number, step, attempt, name, error=f"This file cannot be read: {error}. Its writer was cut off.")
    if not isinstance(said, dict):
        return Attempt(number, step, attempt, name, error="This file holds no object.")
    facts = said.get("facts")
    seconds = said.get("seconds")
    return Attempt(
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
        error=_text(said.get("error")),
    )


def _findings(rows: object) -> tuple[Finding, ...]:
    if not isinstance(rows, list):
        return ()
    return tuple(
        Finding(
            name=_text(row.get("name")),
            outcome=_text(row.get("outcome")) or "unknown",
            detail=_text(row.get("detail")),
            facts=_pretty(row.get("facts")),
        )
        for row in rows
        if isinstance(row, dict)
    )


def _merged(steps: Iterable[Attempt]) -> dict[str, Any]:
    """Return the facts of all steps; what a later step says replaces what an earlier one said."""
    return {key: value for step in steps for key, value in step.facts.items() if value is not None}


def _verdict(steps: Sequence[Attempt], *, dry_run: bool) -> tuple[str, Tone]:
    if not steps:
        return "Nothing was recorded", "unknown"
    verdict, tone = _ending(steps)
    return (f"Dry run: {verdict[0].lower()}{verdict[1:]}", tone) if dry_run else (verdict, tone)


def _ending(steps: Sequence[Attempt]) -> tuple[str, Tone]:
    back = next((each for each in steps if each.step == "roll_back"), None)
    if back is not None:
        done = back.tone in ("good", "warn")
        return ("Rolled back", "warn") if done else ("The roll back did not finish", "bad")
    for tone, word in (("bad", "Stopped at"), ("unknown", "Unknown at")):
        for step in steps:
            if step.tone == tone:
                return f"{word} {step.title.lower()}: {step.outcome.replace('_', ' ')}", tone
    if steps[-1].step == "report":
        return "Completed", "good"
    return f"Not finished: the last step recorded is {steps[-1].title.lower()}", "warn"


def _title(group: str, facts: Mapping[str, Any]) -> str:
    verb = _text(facts.get("verb")).replace("_", " ").capitalize() or "Run"
    source, target = _text(facts.get("source")), _text(facts.get("target"))
    return f"{verb} of {group}" + (f", {source} → {target}" if source and target else "")


def _figures(facts: Mapping[str, Any]) -> Iterable[Figure]:
    promised = facts.get("objectives")
    for key, label, unit in _FIGURES:
        value = facts.get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        limit = promised.get(key) if isinstance(promised, dict) else None
        kept: Tone = "unknown"
        if key in ("lost", "reordered"):
            kept = "good" if value == 0 else "bad"
        elif isinstance(limit, (int, float)):
            kept = "good" if value <= limit else "bad"
        yield Figure(label, _number(value, unit), f"promised {_number(limit, unit)}" if limit is not None else "", kept)


def _decisions(steps: Iterable[Attempt]) -> Iterable[Decision]:
    for step in steps:
        facts = step.facts
        who = facts.get("approved_by") or facts.get("responder") or facts.get("rejected_by")
        if who is None and step.step != "approval":
            continue
        yield Decision(
            step=step.title,
            who=", ".join(map(str, who)) if isinstance(who, list) else _text(who) or "nobody",
            said=_text(facts.get("decision")) or step.outcome,
            at=_text(facts.get("approved_at") or facts.get("responded_at")) or step.finished_at,
            digest=_text(facts.get("digest") or facts.get("evidence_sha256")),
            reason=_text(facts.get("reason")),
        )


def _offsets(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    rows = facts.get("groups")
    if not isinstance(rows, list):
        return ()
    return tuple(row for row in rows if isinstance(row, dict) and "group" in row and "topic" in row)


def _number(value: float, unit: str) -> str:
    text = f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    return f"{text} {unit}".strip()


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) if value else ""
