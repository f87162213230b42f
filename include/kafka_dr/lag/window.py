"""What is kept between two lag audits: the last looks at each reader, as one small file that is replaced as a whole.

If the topic was created again, or the flow seeded again, its series starts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from kafka_dr.codec import StoredRow
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.lag.verdict import MOST, Sample

_SCHEMA_VERSION = 1
#: Looks that are further apart say nothing about each other.
KEPT = timedelta(hours=1)


class WindowUnreadable(ValueError):
    """The file is not what a lag audit writes."""


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """Who reads what.

    :param reader: a consumer group; empty for the flow itself
    """

    reader: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Window:
    """The last looks at every reader of a flow's source.

    :param lives: by series, what distinguishes one life of it from the next: topic id, and for the flow its epoch
    """

    samples: Mapping[Series, tuple[Sample, ...]] = field(default_factory=dict)
    lives: Mapping[Series, str] = field(default_factory=dict)

    def of(self, series: Series) -> tuple[Sample, ...]:
        """Return the looks at a reader, oldest first."""
        return self.samples.get(series, ())

    def add(self, looks: Mapping[Series, Sample], lives: Mapping[Series, str]) -> Window:
        """Return the window after one more look; a reader that is not looked at any more is left out.

        :param lives: of the same series
        """
        return Window(
            {
                series: (*self._still_counts(series, look, lives[series]), look)[-MOST:]
                for series, look in looks.items()
            },
            dict(lives),
        )

    def _still_counts(self, series: Series, look: Sample, life: str) -> tuple[Sample, ...]:
        if self.lives.get(series) != life:
            return ()
        return tuple(each for each in self.of(series) if look.at - KEPT <= each.at < look.at)


class WindowStore:
    """Keeps the window of each direction of a protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    """

    def __init__(self, root: Any, group: str, *, source: str, target: str) -> None:
        path = root.joinpath("audits", group, "lag", f"{source}-to-{target}", "window.json")
        self._file = JsonFile.of(tuple[_Row, ...], path, _SCHEMA_VERSION, under="series")

    def read(self) -> Window:
        """Return what was kept; an empty window if there is nothing yet.

        :raises WindowUnreadable: the file is damaged
        """
        try:
            return _window(self._file.read() or ())
        except DocumentDamaged as error:
            raise WindowUnreadable(f"this is not the window of a lag audit: {error}") from error

    def write(self, window: Window) -> None:
        """Replace what was kept. A reader sees the old file or the new one, never a part of it."""
        self._file.write(_rows(window))


@dataclass(frozen=True, slots=True)
class _Row(StoredRow):
    reader: str
    topic: str
    number: int
    life: str
    looks: tuple[Sample, ...]


def _rows(window: Window) -> tuple[_Row, ...]:
    found = sorted(window.samples.items())
    return tuple(_Row(of.reader, of.topic, of.partition, window.lives[of], looks) for of, looks in found)


def _window(rows: tuple[_Row, ...]) -> Window:
    of = {Series(row.reader, row.topic, row.number): row for row in rows}
    return Window({series: row.looks for series, row in of.items()}, {series: row.life for series, row in of.items()})
