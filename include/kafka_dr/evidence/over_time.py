"""A figure of a group over days, as lines to draw. Where nothing was measured there is no line. Numbers, no HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

from kafka_dr.durations import duration
from kafka_dr.watch_results import FigureName, FigurePoint, Period, WatchedGroup

#: The width and the height of a drawing, in its own units.
WIDTH, HEIGHT = 1000.0, 100.0
#: How long a value counts: the quarter of an hour of which it is the worst.
_SLOT = timedelta(minutes=15)
#: So many values of a drawing can be met by a pointer, and no span is narrower.
_MOST_VALUES, _LEAST = 168, 3.0
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
class FigureSpan:
    """A part of a drawing that says something under the pointer.

    :param x: where it begins
    """

    x: float
    width: float
    said: str


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A figure over time.

    :param lines: the points of each line without a hole, as SVG writes them
    :param objective: where the dashed line is; ``None``: there is none
    :param said: the newest and the worst value, in words
    :param highest: the value of the upper edge; the lower one is 0
    :param lowest: 0, with the unit
    :param values: what was measured when
    :param incidents: when the group was red
    """

    title: str
    begin: datetime
    end: datetime
    lines: tuple[str, ...]
    objective: float | None
    said: str
    highest: str
    lowest: str
    values: tuple[FigureSpan, ...]
    incidents: tuple[FigureSpan, ...]

    @property
    def middle(self) -> datetime:
        """The time in the middle of the drawing."""
        return self.begin + (self.end - self.begin) / 2


def figure_line(
    figure: FigureName,
    points: Sequence[FigurePoint],
    begin: datetime,
    end: datetime,
    *,
    objectives: Mapping[str, float],
    red: Iterable[Period] = (),
) -> FigureLine | None:
    """Return a figure over time; ``None`` if nothing was measured in that time.

    :param points: by time; older and later ones are left out
    :param objectives: in seconds, by name
    :param red: when the group was red
    """
    title, unit, name = SHOWN[figure]
    shown = [each for each in points if begin <= each.at <= end]
    if not shown or begin == end:
        return None
    objective = objectives.get(name)
    highest = max(*(each.value for each in shown), objective or 0.0, 1.0) if unit == "s" else 100.0
    lines = tuple(_drawn(part, begin, end, highest) for part in _without_holes(shown))
    worst = (max if unit == "s" else min)(shown, key=lambda each: each.value)
    limit = f"; the dashed line is the objective {duration(objective)}" if objective is not None else ""
    unmeasured = _unmeasured(shown, end) if unit == "s" else ""
    marked = tuple(_incidents(red, begin, end))
    said = (
        f"Newest {_value(shown[-1], unit)} at {_clock(shown[-1])}, worst measured {_value(worst, unit)} at "
        f"{_clock(worst)}{unmeasured}{limit}.{_marked(marked)}"
    )
    at = round(HEIGHT - objective / highest * HEIGHT, 1) if objective is not None else None
    values = tuple(_values(shown, begin, end, unit))
    return FigureLine(title, begin, end, lines, at, said, f"{highest:.4g} {unit}", f"0 {unit}", values, marked)


def incidents(watched: WatchedGroup) -> tuple[Period, ...]:
    """Return when health was red, the newest first: what plots mark."""
    found = next((each.result for each in watched.watches if each.watch.name == "health"), None)
    if found is None:
        return ()
    current = Period(found.outcome, found.begun, found.looked_at, next(iter(found.sentences), ""))
    return tuple(each for each in (current, *found.history) if each.outcome == "failed")


def _values(points: Sequence[FigurePoint], begin: datetime, end: datetime, unit: Unit) -> Iterator[FigureSpan]:
    """Yield what a pointer shows: each value, or the worst of several where they are too narrow to be met."""
    several = max(1, -(-len(points) // _MOST_VALUES))
    for first in range(0, len(points), several):
        of = points[first : first + several]
        worst = (max if unit == "s" else min)(of, key=lambda each: each.value)
        said = f"{_value(worst, unit)}, {_clock(of[0])}" + (f" to {_clock(of[-1])}" if several > 1 else "")
        yield _span(of[0].at, of[-1].at + _SLOT, begin, end, said)


def _incidents(periods: Iterable[Period], begin: datetime, end: datetime) -> Iterator[FigureSpan]:
    for each in periods:
        if begin <= each.until and each.since <= end:
            times = " to ".join(f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" for at in (each.since, each.until))
            yield _span(each.since, each.until, begin, end, f"{times}: {each.sentence}")


def _marked(spans: Sequence[FigureSpan]) -> str:
    if not spans:
        return ""
    more = f", and {len(spans) - 1} times before" if len(spans) > 1 else ""
    return f" The red band is when the group was red: {spans[0].said.rstrip('.')}{more}."


def _span(since: datetime, until: datetime, begin: datetime, end: datetime, said: str) -> FigureSpan:
    x, until_x = ((min(max(at, begin), end) - begin) / (end - begin) * WIDTH for at in (since, until))
    return FigureSpan(round(x, 1), round(max(until_x - x, _LEAST), 1), said)


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
