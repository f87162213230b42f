"""When a drill may begin, and which one is due. Pure rules over the topology and past results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from kafka_dr.drill.result import DrillResult
from kafka_dr.topology.drill import DrillKind, DrillSpec

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def is_open(windows: Iterable[str], now: datetime) -> bool:
    """Return whether a drill may begin now; without windows it always may.

    :param windows: as the topology declares them, in UTC
    :param now: aware
    """
    declared = tuple(windows)
    return not declared or any(_covers(window, now.astimezone(UTC)) for window in declared)


def _covers(window: str, now: datetime) -> bool:
    days, _, hours = window.partition(" ")
    first, _, last = days.partition("-")
    begin, _, end = hours.partition("-")
    return _on_day(_DAYS.index(first), _DAYS.index(last or first), now.weekday()) and begin <= f"{now:%H:%M}" < end


def _on_day(first: int, last: int, day: int) -> bool:
    """Return whether a day is between two; ``Fri-Mon`` goes over the end of the week."""
    return first <= day <= last if first <= last else day >= first or day <= last


def due(spec: DrillSpec, results: Sequence[DrillResult], now: datetime) -> DrillKind | None:
    """Return the kind of drill that is to begin by itself now; ``None`` if none is.

    A drill that did not pass is not tried again by itself: a person has to look first, and triggers the next one.

    :param results: of the group's past drills, in any order
    """
    if spec.every_days is None or not is_open(spec.windows, now):
        return None
    newest = max((result.started_at for result in results), default=None)
    if newest is not None and now - newest < timedelta(days=spec.every_days):
        return None
    last = {kind: max((r.started_at for r in results if r.kind == kind), default=None) for kind in spec.kinds}
    return min(spec.kinds, key=lambda kind: last[kind] or datetime.min.replace(tzinfo=UTC))


def overdue(spec: DrillSpec, results: Sequence[DrillResult], now: datetime) -> bool:
    """Return whether the group has not passed a drill for longer than the topology wants.

    A drill begins in the first window after it is due, so one day more is allowed for each day between windows.
    """
    if spec.every_days is None:
        return False
    passed = max((result.started_at for result in results if result.passed), default=None)
    allowed = timedelta(days=spec.every_days + (7 if spec.windows else 1))
    return passed is None or now - passed > allowed
