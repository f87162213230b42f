"""Ports for labs of tests, which run at the same time as other labs and as other tests."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from lab.ports import first_free_base

#: How many ports a lab and what a test starts with it may use.
SPAN = 800
#: The locks of what this process has chosen.
_HELD: list[IO[str]] = []


def worker() -> int:
    """Return the number of this worker of the test run, from zero on."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def port_base(candidates: Iterable[int], *, setting: str = "") -> int:
    """Return the first port of a range that nobody listens on.

    :param candidates: first ports of ranges, the preferred one first
    :param setting: an environment variable that chooses the port instead
    """
    chosen = os.environ.get(setting) if setting else None
    if chosen:
        return int(chosen)
    # Other workers look at the same ports at the same moment, so each prefers other ones.
    tried = list(candidates)
    first = worker() % len(tried)
    return next(base for base in _free(tried[first:] + tried[:first]) if _is_ours(base))


def _free(bases: Sequence[int]) -> Iterator[int]:
    left = list(bases)
    while True:
        found = first_free_base(left, SPAN)
        left.remove(found)
        yield found


def _is_ours(base: int) -> bool:
    """Return whether no other run of tests has chosen the same, which may start its servers later."""
    lock = Path(Path(tempfile.gettempdir()) / f"kafka-dr-ports-{base}").open("w")  # noqa: SIM115 - held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return False
    _HELD.append(lock)
    return True
