"""Figures over time: of each quarter of an hour the worst value of a group, in one file for each watch and day.

It is what plots are drawn from. A quarter in which nobody looked, or nothing was measured, has no value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.watch_results.watches import WatchName

_SCHEMA = 1
_SLOT = timedelta(minutes=15)
#: How long the figures of a day are kept.
_KEPT = timedelta(days=15)

FigureName = Literal[
    "rpo_seconds", "verified_rpo_seconds", "lag_seconds", "planned_failover_score", "unplanned_failover_score"
]
#: Where the higher value is the better one.
_HIGHER_IS_BETTER: frozenset[FigureName] = frozenset({"planned_failover_score", "unplanned_failover_score"})
#: Which watch measures a figure, and what it is called among the facts of a look.
MEASURED: Mapping[FigureName, tuple[WatchName, str]] = {
    "rpo_seconds": ("canary", "rpo_seconds"),
    "verified_rpo_seconds": ("checksum", "verified_rpo_seconds"),
    "lag_seconds": ("lag", "seconds"),
    "planned_failover_score": ("readiness", "planned_failover"),
    "unplanned_failover_score": ("readiness", "unplanned_failover"),
}
_Values = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class FigurePoint:
    """The worst value of a quarter of an hour.

    :param at: when the quarter begins, UTC
    """

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class FiguresOverTime:
    """The figures of a watch. Only one task at a time may add to them.

    :param root: the evidence root, a path object
    """

    root: Any
    watch: WatchName

    def add(self, at: datetime, measured: Mapping[str, Mapping[str, Any]], *, declared: Collection[str]) -> None:
        """Add what looks measured, by group. The first value of a day also removes the files of old days.

        :param at: when they looked, UTC
        :param measured: facts, by group; what is not a number is left out
        :param declared: the groups of the topology; the others are dropped
        :raises OSError: the storage does not take it
        """
        day, slot = at.astimezone(UTC).date(), str(_slot_of(at))
        try:
            before = self._file(day).read()
        except DocumentDamaged:
            before = {}
        kept = {name: values for name, values in (before or {}).items() if name.partition("/")[0] in declared}
        changed = False
        for group, facts in measured.items():
            for figure, (watch, fact) in MEASURED.items():
                if watch != self.watch or (value := _number(facts.get(fact))) is None:
                    continue
                values = kept.setdefault(f"{group}/{figure}", {})
                if slot not in values or _is_worse(figure, value, values[slot]):
                    values[slot] = value
                    changed = True
        if changed:
            self._file(day).write(kept)
            if before is None:
                self._remove_before(day - _KEPT)

    def of(self, group: str, figure: FigureName, days: Sequence[date]) -> tuple[FigurePoint, ...]:
        """Return the values of a group on these days.

        :param days: the oldest first
        :raises DocumentDamaged: a file holds something else
        :raises OSError: the storage does not answer
        """
        found = []
        for day in days:
            values = (self._file(day).read() or {}).get(f"{group}/{figure}", {})
            midnight = datetime.combine(day, time(), UTC)
            found += [FigurePoint(midnight + int(slot) * _SLOT, value) for slot, value in values.items()]
        return tuple(sorted(found, key=lambda point: point.at))

    def _remove_before(self, oldest: date) -> None:
        for path in self._folder.iterdir():
            if path.name.endswith(".json") and path.name < f"{oldest.isoformat()}.json":
                path.unlink()

    @property
    def _folder(self) -> Any:
        return self.root.joinpath("watches", ".figures", self.watch)

    def _file(self, day: date) -> JsonFile[_Values]:
        return JsonFile(
            self._folder.joinpath(f"{day.isoformat()}.json"),
            schema=_SCHEMA,
            to_json=lambda values: {"figures": values},
            from_json=_read,
        )


def _read(stored: Mapping[str, Any]) -> _Values:
    found = {
        str(name): {str(int(slot)): value for slot, value in row.items()} for name, row in stored["figures"].items()
    }
    slots = timedelta(days=1) // _SLOT
    for name, row in found.items():
        if any(_number(value) is None or not 0 <= int(slot) < slots for slot, value in row.items()):
            raise ValueError(f"{name} holds something else than numbers of a day")
    return found


def slot_begin(at: datetime) -> datetime:
    """Return when the quarter of an hour of a time begins, UTC."""
    now = at.astimezone(UTC)
    return datetime.combine(now.date(), time(), UTC) + _slot_of(now) * _SLOT


def _slot_of(at: datetime) -> int:
    now = at.astimezone(UTC)
    return (now - datetime.combine(now.date(), time(), UTC)) // _SLOT


def _is_worse(figure: FigureName, value: float, known: float) -> bool:
    return value < known if figure in _HIGHER_IS_BETTER else value > known


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return round(float(value), 3)
