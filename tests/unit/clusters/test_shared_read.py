"""Callers that share a read get what was read after they asked, and its error."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread

import pytest

from kafka_dr.clusters.shared_read import SharedRead


def test_who_asks_while_a_read_runs_gets_the_next_one_together_with_all_who_wait() -> None:
    begun, let_go, lock = Event(), Event(), Lock()
    reads: list[int] = []

    def read() -> int:
        with lock:
            reads.append(len(reads))
            mine = reads[-1]
        begun.set()
        assert let_go.wait(30)
        return mine

    shared = SharedRead(read)
    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(shared)
        assert begun.wait(30)
        others = [pool.submit(shared) for _ in range(9)]
        while shared._next is None:
            pass
        let_go.set()
        assert first.result(30) == 0
        found = {each.result(30) for each in others}
    assert 0 not in found, "it began before they asked"
    assert len(reads) < 10


def test_a_read_that_fails_fails_for_all_who_share_it_and_the_next_one_reads_again() -> None:
    asked: list[int] = []

    def read() -> int:
        asked.append(7)
        if len(asked) == 1:
            raise OSError("no answer")
        return asked[-1]

    shared = SharedRead(read)
    with pytest.raises(OSError, match="no answer"):
        shared()
    assert shared() == 7


class _InterruptedOnce:
    """A lock whose first owner is interrupted while it waits."""

    def __init__(self) -> None:
        self.interrupts = 1

    def __enter__(self) -> None:
        if self.interrupts:
            self.interrupts = 0
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        pass


def test_a_caller_that_is_interrupted_before_it_reads_leaves_nobody_waiting() -> None:
    shared = SharedRead(lambda: 7)
    shared._running = _InterruptedOnce()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        shared()
    answers: list[int] = []
    asking = Thread(target=lambda: answers.append(shared()), daemon=True)
    asking.start()
    asking.join(5)
    assert answers == [7]
