"""How fast this process itself was while it asked: one that gets no processor must not call a cluster silent.

Deadlines pass by the clock on the wall, and a handshake needs a processor. Waking up late shows nothing, as a kernel
serves those first who slept. So a little work is done again and again: what it needs of a processor, by the time that
it takes, is the share that a busy thread of this process gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Self

#: With less of one processor than this, an answer that did not come in time says nothing about a cluster.
ENOUGH = 1 / 3
_WORK_SECONDS = 0.003
_PAUSE_SECONDS = 0.2

#: Seconds of a processor, and seconds by the clock.
Work = tuple[float, float]


def _work() -> Work:
    began, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < _WORK_SECONDS:
        pass
    return time.thread_time() - used, time.monotonic() - began


class OwnSpeed:
    """Measures while its block runs.

    :param work: does a little work, and returns what it took
    """

    def __init__(self, work: Callable[[], Work] = _work, *, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._work, self._pause_seconds = work, pause_seconds
        self._ended = Event()
        self._done: list[Work] = []

    def __enter__(self) -> Self:
        Thread(target=self._measure, name="own speed", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    @property
    def share(self) -> float | None:
        """The share of one processor, from 0 to 1; ``None`` if nothing was measured yet."""
        done = tuple(self._done)
        took = sum(seconds for _, seconds in done)
        return min(1.0, sum(used for used, _ in done) / took) if took else None

    @property
    def too_slow(self) -> str:
        """What keeps this process from judging clusters by their silence, as a sentence; empty if nothing does."""
        share = self.share
        if share is None or share >= ENOUGH:
            return ""
        return (
            f"this worker was too slow to ask: it got {share:.0%} of one processor meanwhile, expected at least "
            f"{ENOUGH:.0%}; look at the load of this worker, the next check asks again"
        )

    def _measure(self) -> None:
        while True:
            self._done.append(self._work())
            if self._ended.wait(self._pause_seconds):
                return
