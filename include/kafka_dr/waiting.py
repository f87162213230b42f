"""Wait until something holds: the one loop of the core that looks, pauses and looks again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafka_dr.clock import Clock

T = TypeVar("T")

#: Between two looks.
PAUSE_SECONDS = 0.1
#: Between two looks while applications wait: each pause makes their outage longer.
SHORT_PAUSE_SECONDS = 0.03


def wait_until(
    look: Callable[[], T],
    holds: Callable[[T], bool],
    *,
    clock: Clock,
    seconds: float,
    pause_seconds: float = PAUSE_SECONDS,
    retry: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """Look until what is seen holds or the time is over, and return what was seen last.

    The caller checks the result: when the time is over, the last result is returned even if it does not hold.

    :param look: called at least once, and exactly once if ``seconds`` is zero or negative
    :param holds: decides whether to stop waiting
    :param seconds: how long to look again; ``math.inf`` if ``look`` itself ends the wait with an error
    :param pause_seconds: how long to sleep between two looks
    :param retry: errors of ``look`` after which it is called again; raised when the time is over
    """
    deadline = clock.monotonic() + seconds
    while True:
        try:
            seen = look()
        except retry:
            if clock.monotonic() >= deadline:
                raise
        else:
            if holds(seen) or clock.monotonic() >= deadline:
                return seen
        clock.sleep(pause_seconds)
