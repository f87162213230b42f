"""An application's log: one JSON line for each thing that it knows to have happened, appended, never changed.

A line is written by one call to the system before the application acts on what it says, so it outlives the process.
A line that a kill cut off says nothing; what it would have said then counts as not known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

Event = dict[str, Any]
_BLOCK_BYTES = 64 * 1024


class Logbook:
    """The log of one application, open for appending.

    :param path: the file; made with its folders if missing
    :param now: the present time in seconds
    """

    def __init__(self, path: Path, *, now: Callable[[], float]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._now = now
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")  # close a line that was cut off

    def __enter__(self) -> Logbook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def write(self, event: str, **fields: Any) -> None:
        """Append one line, stamped with the present time unless ``at`` is given."""
        line = {"event": event, "at": round(self._now(), 6)} | fields
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")


def read(path: Path) -> Iterator[Event]:
    """Every event of a log from the first on; nothing where there is no log."""
    if path.exists():
        with path.open("rb") as lines:
            yield from _events(lines)


def read_tail(path: Path, *, size: int = _BLOCK_BYTES) -> list[Event]:
    """The last events of a log, as many as fit into ``size`` bytes."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        start = max(path.stat().st_size - size, 0)
        file.seek(start)
        if start:
            file.readline()  # begins in the middle
        return list(_events(file))


def read_back(path: Path, *, until: Callable[[Event], bool], size: int = _BLOCK_BYTES) -> list[Event]:
    """The end of a log from the last event on that satisfies ``until``; the whole log if none does.

    :param size: how many bytes to look at first
    """
    while True:
        events = read_tail(path, size=size)
        for index in range(len(events) - 1, -1, -1):
            if until(events[index]):
                return events[index:]
        if not path.exists() or size >= path.stat().st_size:
            return events
        size *= 8


def _events(lines: Iterator[bytes] | Any) -> Iterator[Event]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
