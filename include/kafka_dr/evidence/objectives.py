"""Whether a run met its objectives, and by how much it missed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from kafka_dr.codec import StoredDocument, stored
from kafka_dr.durations import IN_SECONDS, duration

ObjectiveVerdict = Literal["met", "missed", "unknown"]
_NAMES = {"write_outage_seconds": "write outage", "rto_seconds": "recovery", "rpo_seconds": "data at risk"}


@dataclass(frozen=True, slots=True)
class MeasuredObjective(StoredDocument):
    """One objective and what was measured, in seconds. Without a measurement it is neither met nor missed.

    :param since: what it counts from, if that is not where it usually begins
    """

    derived: ClassVar[tuple[str, ...]] = ("verdict", "missed_by")

    name: str
    measured: float | None
    objective: float
    since: str = field(default="", metadata=stored(omitted=True))

    @property
    def verdict(self) -> ObjectiveVerdict:
        """Whether the objective was met."""
        if self.measured is None:
            return "unknown"
        return "met" if self.measured <= self.objective else "missed"

    @property
    def missed_by(self) -> float | None:
        """By how many seconds it was missed; ``None`` if it was not."""
        if self.measured is None or self.measured <= self.objective:
            return None
        return round(self.measured - self.objective, 3)

    @property
    def words(self) -> str:
        """The result for a person, such as ``write outage 7.3 s, missed 5 s by 2.3 s``."""
        label = _NAMES.get(self.name, self.name.removesuffix("_seconds").replace("_", " "))
        label = f"{label} after the {self.since}" if self.since else label
        if self.measured is None:
            return f"{label} not known, objective {duration(self.objective)}"
        said = f"{label} {_measured(self.measured)}, {self.verdict} {duration(self.objective)}"
        return said if self.missed_by is None else f"{said} by {_measured(self.missed_by)}"


def objective_results(facts: Mapping[str, Any]) -> tuple[MeasuredObjective, ...]:
    """Read the objectives of a run from the facts of its report; rows of another shape are ignored.

    :param facts: of the whole run; the measured value is in the row, or next to the rows under the objective's name
    """
    rows = facts.get("objectives")
    return tuple(_read(rows if isinstance(rows, list) else (), facts))


def _read(rows: Iterable[Any], facts: Mapping[str, Any]) -> Iterable[MeasuredObjective]:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(name := row.get("name"), str):
            continue
        measured, objective = _number(row.get("measured", facts.get(name))), _number(row.get("objective"))
        if objective is not None:
            yield MeasuredObjective(name, measured, objective, str(row.get("since") or ""))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _measured(seconds: float) -> str:
    """Return what was measured: seconds with one decimal, or with more if that would show 0, or a longer duration.

    A small miss is still a miss.
    """
    return f"{seconds:.1f} s" if round(seconds, 1) and seconds < IN_SECONDS else duration(seconds)
