"""What the business was promised, and whether a run kept it: each objective by name, and by how much it was missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ObjectiveVerdict = Literal["met", "missed", "unknown"]
_NAMES = {"write_outage_seconds": "write outage", "rto_seconds": "recovery", "rpo_seconds": "data at risk"}


@dataclass(frozen=True, slots=True)
class ObjectiveResult:
    """One objective and what was measured, in seconds; what was not measured is neither met nor missed."""

    name: str
    measured: float | None
    objective: float

    @property
    def verdict(self) -> ObjectiveVerdict:
        """Whether it was kept."""
        if self.measured is None:
            return "unknown"
        return "met" if self.measured <= self.objective else "missed"

    @property
    def missed_by(self) -> float | None:
        """How much longer it took; ``None`` unless it was missed."""
        if self.measured is None or self.measured <= self.objective:
            return None
        return round(self.measured - self.objective, 3)

    @property
    def words(self) -> str:
        """The same for a person, such as ``write outage 7.3 s, missed 5 s by 2.3 s``."""
        label = _NAMES.get(self.name, self.name.removesuffix("_seconds").replace("_", " "))
        if self.measured is None:
            return f"{label} not known, promised {self.objective:g} s"
        said = f"{label} {_seconds(self.measured)} s, {self.verdict} {self.objective:g} s"
        return said if self.missed_by is None else f"{said} by {_seconds(self.missed_by)} s"

    def to_json(self) -> dict[str, Any]:
        """Return what the evidence keeps."""
        return {
            "name": self.name,
            "measured": self.measured,
            "objective": self.objective,
            "verdict": self.verdict,
            "missed_by": self.missed_by,
        }


def objective_results(facts: Mapping[str, Any]) -> tuple[ObjectiveResult, ...]:
    """Read the objectives of a run from the facts of its report; rows of another shape are passed over.

    :param facts: of the whole run; what was measured may be in the row, or next to it under the objective's name
    """
    rows = facts.get("objectives")
    return tuple(_read(rows if isinstance(rows, list) else (), facts))


def _read(rows: Iterable[Any], facts: Mapping[str, Any]) -> Iterable[ObjectiveResult]:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(name := row.get("name"), str):
            continue
        measured, objective = _number(row.get("measured", facts.get(name))), _number(row.get("objective"))
        if objective is not None:
            yield ObjectiveResult(name, measured, objective)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _seconds(value: float) -> str:
    """Return seconds to a tenth, or to what is left of them: a promise missed by little was not missed by nothing."""
    return f"{value:.1f}" if round(value, 1) else f"{value:.3g}"
