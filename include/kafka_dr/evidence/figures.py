"""The numbers that people ask for first, each with its objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.evidence.status_colour import StatusColour

_FIGURES = (
    ("write_outage_seconds", "Write outage", "s"),
    ("writes_refused_seconds", "Both clusters refused writes", "s"),
    ("write_pause_seen_seconds", "Longest pause in the log", "s"),
    ("rto_seconds", "Recovery time (RTO)", "s"),
    ("rpo_seconds", "Data at risk (RPO)", "s"),
    ("acknowledged", "Records acknowledged", ""),
    ("lost", "Lost", ""),
    ("lost_at_least", "Lost until the last look", ""),
    ("reordered", "Reordered", ""),
    ("redelivered", "Delivered again", ""),
    ("redelivered_at_most", "Delivered again, at most", ""),
    ("mm2_redelivered_at_most", "Delivered again by MirrorMaker's checkpoints, at most", ""),
    ("positions_left_out", "Offsets not moved", ""),
)


#: What the colour of a figure says, in words.
_VERDICTS: Mapping[StatusColour, str] = {"good": ", met", "bad": ", missed"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that people ask for first, with its objective."""

    label: str
    value: str
    objective: str
    colour: StatusColour


def figures(facts: Mapping[str, Any]) -> Iterable[Figure]:
    """Yield what was measured, and every objective that could not be measured.

    :param facts: of the whole run; ``objectives`` lists the name and the objective of each
    """
    judged = facts.get("objectives")
    objectives = {
        row.get("name"): row.get("objective")
        for row in (judged if isinstance(judged, list) else ())
        if isinstance(row, dict) and _is_number(row.get("objective"))
    }
    for key, label, unit in _FIGURES:
        value, limit = facts.get(key), objectives.get(key)
        if not _is_number(value) and limit is None:
            continue
        kept = _kept(key, value, limit)
        shown = f"objective {_number(limit, unit)}{_VERDICTS.get(kept, '')}" if limit is not None else ""
        yield Figure(label, _number(value, unit), shown, kept)


def _kept(key: str, value: Any, limit: float | None) -> StatusColour:
    if key == "lost_at_least":
        # A lower bound of 0 does not mean that nothing was lost.
        return "bad" if _is_number(value) and value > 0 else "unknown"
    if key == "positions_left_out":
        return "warn"
    most = 0 if key in ("lost", "reordered") else limit
    if most is None or not _is_number(value):
        return "unknown"
    return "good" if value <= most else "bad"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any, unit: str) -> str:
    if not _is_number(value):
        return "not known"
    text = f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    return f"{text} {unit}".strip()
