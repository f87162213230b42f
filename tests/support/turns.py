"""Threads that wait for their turn before each question, so that a list of turns is an interleaving."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field


class TurnsOver(BaseException):
    """The process of an actor has died."""


@dataclass
class Turns:
    """Lets threads continue one after the other, each up to its next question."""

    wakes: dict[str, threading.Semaphore] = field(default_factory=dict)
    paused: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    dead: set[str] = field(default_factory=set)

    def wait(self, name: str) -> None:
        self.paused.release()
        assert self.wakes[name].acquire(timeout=10)
        if name in self.dead:
            raise TurnsOver

    def start(self, name: str, act: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            with suppress(TurnsOver):
                assert self.wakes[name].acquire(timeout=10)
                if name not in self.dead:
                    act()
            self.paused.release()

        self.wakes[name] = threading.Semaphore(0)
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def next(self, name: str) -> None:
        self.wakes[name].release()
        assert self.paused.acquire(timeout=10)
