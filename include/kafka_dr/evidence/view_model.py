"""What the page of a run shows: its steps, checks, decisions, figures and notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.evidence.figures import Figure
from kafka_dr.evidence.status_colour import StatusColour, colour_of

_DIFFERENCE = "difference"


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check or a proof, as one row."""

    name: str
    outcome: str
    detail: str
    facts: str

    @property
    def colour(self) -> StatusColour:
        """The colour of the outcome."""
        return colour_of(self.outcome)


@dataclass(frozen=True, slots=True)
class StepView:
    """One attempt of one step, from its file.

    :param number: the position of the step in its verb, from 1
    :param attempt: from 1
    :param started_at: as it is stored; empty if it is not known
    """

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
        """The colour of the outcome."""
        return colour_of(self.outcome)

    @property
    def title(self) -> str:
        """The name of the step for people."""
        return self.step.replace("_", " ").capitalize()

    @property
    def facts_text(self) -> str:
        """The facts as they were stored, without the difference, which has its own table."""
        return pretty({key: value for key, value in self.facts.items() if key != _DIFFERENCE})

    @property
    def difference(self) -> tuple[Mapping[str, Any], ...]:
        """How the configuration of the two clusters differs, one row for each difference; empty if not compared."""
        return self._compared("rows")

    @property
    def access(self) -> tuple[Mapping[str, Any], ...]:
        """Whose rights would change with a switch; empty if the step did not check it."""
        return self._compared("access")

    def _compared(self, part: str) -> tuple[Mapping[str, Any], ...]:
        found = self.facts.get(_DIFFERENCE)
        rows = found.get(part) if isinstance(found, dict) else None
        return tuple(row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


@dataclass(frozen=True, slots=True)
class DecisionView:
    """Who approved or rejected what.

    :param said: ``approved``, ``rejected`` or ``unknown``
    :param counted: whether the answer was valid
    """

    step: str
    who: str
    said: str
    at: str
    digest: str
    reason: str
    counted: bool

    @property
    def colour(self) -> StatusColour:
        """The colour of the decision."""
        return colour_of(self.said) if self.counted else "unknown"


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything that the page of a run shows.

    :param name: what people call the run
    :param verdict: how the run ended, in one line
    :param steps: the newest attempt of each step
    :param earlier: all other attempts
    :param question: of a run that waits for a person, or did so too long: what its link says, and its address
    :param facts: of all steps; a later step replaces what an earlier one said
    """

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
    dry: bool = False
    expired: bool = False
    question: tuple[str, str] = ("", "")
    name: str = ""


def text_of(value: object) -> str:
    """Return a stored value as text; empty for a missing one."""
    return "" if value is None else str(value)


def pretty(value: object) -> str:
    """Return a stored value as JSON for people; empty for a missing one."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) if value else ""
