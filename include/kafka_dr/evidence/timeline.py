"""What is drawn on pages: the outcomes of a watch over time, and a figure of the last runs. Numbers only, no HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kafka_dr.durations import duration
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.watch_results import KeptResult, WatchOutcome

#: The width of a drawing, in its own units.
WIDTH = 1000.0
#: No part of a drawing is narrower, so that a failure of a minute can be seen in two weeks.
_LEAST = 3.0
#: A bar of the greatest value, and one that is too small to be seen otherwise.
_HIGHEST, _LOWEST = 100.0, 1.0
#: A chart of a few runs has bars of this width.
_WIDEST = 80.0
_SHORTEST, _LONGEST = timedelta(hours=1), timedelta(days=14)


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """A time in which a watch found the same.

    :param x: where it begins
    :param outcome: ``None``: nothing is known of that time
    """

    x: float
    width: float
    outcome: WatchOutcome | None
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a watch found of a group, from ``begin`` to ``end``."""

    begin: datetime
    end: datetime
    parts: tuple[TimelinePart, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A run.

    :param x: where its bar begins
    :param height: of its bar; 0 if nothing was measured
    :param label: what was measured, and whether the objective was met, in words
    """

    x: float
    width: float
    height: float
    label: str
    colour: StatusColour
    run: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """An objective of the last runs, the oldest first.

    :param objective: the height of the newest objective
    :param objective_label: in words
    :param highest: the value of the upper edge
    :param clocks: the oldest and the newest run
    """

    title: str
    bars: tuple[Bar, ...]
    objective: float
    objective_label: str
    highest: str
    clocks: tuple[str, ...]


def shown_time(found: Iterable[KeptResult], now: datetime) -> timedelta:
    """Return how long timelines of these results are: as far back as they reach, up to two weeks."""
    oldest = min(
        (period for each in found for period in (each.begun, *(old.since for old in each.history))), default=now
    )
    return min(max(now - oldest, _SHORTEST), _LONGEST)


def in_words(shown: timedelta) -> str:
    """Return the time that a timeline shows: ``the last 3 hours``, ``the last 14 days``."""
    hours = max(1, round(shown / timedelta(hours=1)))
    if hours < 48:
        return "the last hour" if hours == 1 else f"the last {hours} hours"
    return f"the last {hours // 24} days"


def timeline(found: KeptResult, now: datetime, *, shown: timedelta) -> Timeline:
    """Return what a watch found of a group.

    :param found: the newest result, with its periods
    :param now: where the timeline ends, UTC
    :param shown: how long the timeline is
    """
    begin = now - shown
    current = min(found.looked_at + found.good_for, now)
    periods: list[tuple[datetime, datetime, WatchOutcome | None]] = [
        (each.since, each.until, each.outcome) for each in reversed(found.history)
    ]
    periods.append((found.begun, current, found.outcome))
    return Timeline(begin, now, tuple(_parts(_closed(periods, begin, now, found.good_for), begin, shown)))


def _closed(
    periods: Sequence[tuple[datetime, datetime, WatchOutcome | None]], begin: datetime, end: datetime, good: timedelta
) -> Iterator[tuple[datetime, datetime, WatchOutcome | None]]:
    """Yield the periods without holes. Between two looks the older one counts for as long as it is believed."""
    reached = begin
    for since, until, outcome in periods:
        if since > reached:
            yield reached, min(since, end), None
            reached = min(since, end)
        following = next((each[0] for each in periods if each[0] > since), end)
        last = min(max(until, min(until + good, following)), end)
        # A single look has no length of its own, and is shown until the next one.
        if last > reached:
            yield reached, last, outcome
            reached = last
    if reached < end:
        yield reached, end, None


def _parts(
    periods: Iterator[tuple[datetime, datetime, WatchOutcome | None]], begin: datetime, shown: timedelta
) -> Iterator[TimelinePart]:
    for since, until, outcome in periods:
        x, width = (since - begin) / shown * WIDTH, (until - since) / shown * WIDTH
        yield TimelinePart(round(min(x, WIDTH - _LEAST), 1), round(max(width, _LEAST), 1), outcome, since, until)


def bar_chart(title: str, runs: Sequence[tuple[str, MeasuredObjective]]) -> BarChart | None:
    """Return the chart of one objective; ``None`` if no run measured it.

    :param runs: by run, the oldest first
    """
    known = [each.measured for _, each in runs if each.measured is not None]
    if not known:
        return None
    newest = runs[-1][1].objective
    highest = max(*known, newest, 1e-9)
    scale = _HIGHEST / highest
    width = min(WIDTH / len(runs), _WIDEST)
    bars = tuple(
        Bar(
            round(number * width + width * 0.1, 1),
            round(width * 0.8, 1),
            0.0 if each.measured is None else round(max(each.measured * scale, _LOWEST), 1),
            each.words,
            _COLOURS[each.verdict],
            run,
        )
        for number, (run, each) in enumerate(runs)
    )
    clocks = tuple(dict.fromkeys((runs[0][0].partition(",")[0], runs[-1][0].partition(",")[0])))
    return BarChart(title, bars, round(newest * scale, 1), f"objective {duration(newest)}", duration(highest), clocks)


_COLOURS: dict[str, StatusColour] = {"met": "good", "missed": "bad", "unknown": "unknown"}
