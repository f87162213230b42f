"""Ports for labs of tests, which run at the same time as other labs and as other tests."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lab.ports import first_free_base

#: How many ports a lab and what a test starts with it may use.
SPAN = 800


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
    return first_free_base(tried[first:] + tried[:first], SPAN)
