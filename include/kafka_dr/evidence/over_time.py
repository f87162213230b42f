"""A figure of a group over days, as lines to draw. Where nothing was measured there is no line. Numbers, no HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

from kafka_dr.durations import duration
from kafka_dr.watch_results import FigureName, FigurePoint

#: The width and the height of a drawing, in its own units.
WIDTH, HEIGHT = 1000.0, 100.0
#: How long a value counts: the quarter of an hour of which it is the worst.
_SLOT = timedelta(minutes=15)
Unit = Literal["s", "%"]

#: Title, unit, and which objective of the group it is held against, in the order of the page.
SHOWN: Mapping[FigureName, tuple[str, Unit, str]] = {
    "rpo_seconds": ("Data at risk (RPO), by the canary", "s", "rpo_seconds"),
    "verified_rpo_seconds": ("Data at risk (RPO), by what was compared", "s", "rpo_seconds"),
    "lag_seconds": ("Replication lag", "s", ""),
    "planned_failover_score": ("Readiness of a planned failover", "%", ""),
    "unplanned_failover_score": ("Readiness of an unplanned failover", "%", ""),
}


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A figure over time.

    :param lines: the points of each line without a hole, as SVG writes them
    :param objective: where the dashed line is; ``None``: there is none
    :param said: the newest and the worst value, in words
    """

    title: str
    begin: datetime
    end: datetime
    lines: tuple[str, ...]
    objective: float | None
    said: str


def figure_line(
    figure: FigureName,
    points: Sequence[FigurePoint],
    begin: datetime,
    end: datetime,
    *,
    objectives: Mapping[str, float],
) -> FigureLine | None:
    """Return a figure over time; ``None`` if nothing was measured in that time.

    :param points: by time; older and later ones are left out
    :param objectives: in seconds, by name
    """
    title, unit, name = SHOWN[figure]
    shown = [each for each in points if begin <= each.at <= end]
    if not shown:
        return None
    objective = objectives.get(name)
    highest = max(*(each.value for each in shown), objective or 0.0, 1.0) if unit == "s" else 100.0
    lines = tuple(_drawn(part, begin, end, highest) for part in _without_holes(shown))
    worst = (max if unit == "s" else min)(shown, key=lambda each: each.value)
    limit = f"; the dashed line is the objective {duration(objective)}" if objective is not None else ""
    unmeasured = _unmeasured(shown, end) if unit == "s" else ""
    said = (
        f"Newest {_value(shown[-1], unit)} at {_clock(shown[-1])}, worst measured {_value(worst, unit)} at "
        f"{_clock(worst)}{unmeasured}; the upper edge is {highest:.4g} {unit}{limit}."
    )
    at = round(HEIGHT - objective / highest * HEIGHT, 1) if objective is not None else None
    return FigureLine(title, begin, end, lines, at, said)


def _unmeasured(points: Sequence[FigurePoint], end: datetime) -> str:
    """Say for how long nothing was measured after the first value: it may have been worse then."""
    times = [*(each.at for each in points), end]
    gaps = [later - earlier - _SLOT for earlier, later in pairwise(times) if later - earlier > 2 * _SLOT]
    hours = sum(gaps, timedelta()) / timedelta(hours=1)
    return f"; for {hours:,.1f} h nothing was measured, and what happened then is not known" if gaps else ""


def _without_holes(points: Sequence[FigurePoint]) -> list[list[FigurePoint]]:
    """Return the points in parts; a part ends where more than a quarter of an hour has no value."""
    parts: list[list[FigurePoint]] = []
    for each in points:
        if parts and each.at - parts[-1][-1].at <= 2 * _SLOT:
            parts[-1].append(each)
        else:
            parts.append([each])
    return parts


def _drawn(part: Sequence[FigurePoint], begin: datetime, end: datetime, highest: float) -> str:
    """Return the points of a line, in steps: each value is the worst of its whole quarter of an hour."""
    corners = ((at, each.value) for each in part for at in (each.at, min(each.at + _SLOT, end)))
    return " ".join(
        f"{(at - begin) / (end - begin) * WIDTH:.1f},{HEIGHT - value / highest * HEIGHT:.1f}" for at, value in corners
    )


def _value(point: FigurePoint, unit: Unit) -> str:
    return f"{point.value:,.4g} {unit}"


def _clock(point: FigurePoint) -> str:
    return f"{point.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
