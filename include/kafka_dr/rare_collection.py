"""Python's collector of cyclic garbage, while a step runs: it looks less often, and mostly at young objects.

A step at a company's size holds millions of small objects (offsets, parts of requests), and Airflow's own modules hold
a million more. Python looks at all of them again each time their number has grown by a quarter, while applications
wait: that took more than half of a step's processor time. Almost everything is freed without that, by counting
references. See the documentation of ``gc.set_threshold``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

#: How many young objects there may be before the collector looks at them, how many such looks there are before it looks
#: at older ones, and how many of those before it looks at all: only in steps that take hours.
_RARELY = (50_000, 10, 50)


@dataclass(slots=True)
class _CollectionRequests:
    """How many ask for it at this moment, and what was set before the first of them."""

    count: int = 0
    usual: tuple[int, int, int] = (0, 0, 0)
    lock: Lock = field(default_factory=Lock)


_ASKED = _CollectionRequests()


@contextmanager
def garbage_collected_rarely() -> Iterator[None]:
    """Let the collector look rarely; it looks as before when the last of those who asked for that has ended."""
    with _ASKED.lock:
        if _ASKED.count == 0:
            _ASKED.usual = gc.get_threshold()
            gc.set_threshold(*_RARELY)
        _ASKED.count += 1
    try:
        yield
    finally:
        with _ASKED.lock:
            _ASKED.count -= 1
            if _ASKED.count == 0:
                gc.set_threshold(*_ASKED.usual)
