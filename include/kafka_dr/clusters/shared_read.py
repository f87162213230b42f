"""One read for several callers: whoever asks while a read runs gets the answer of the next one, with all who wait.

So every caller gets what was read after it asked, as if it had read itself, and many callers cost few reads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class SharedRead(Generic[V]):
    """Shares the answers of a read.

    :param read: reads; its error is raised for every caller that shares it
    """

    def __init__(self, read: Callable[[], V]) -> None:
        self._read = read
        self._lock = Lock()
        self._running = Lock()
        self._next: Future[V] | None = None

    def __call__(self) -> V:
        """Return what was read after this call began."""
        with self._lock:
            leads = self._next is None
            shared = self._next = self._next or Future()
        if not leads:
            return shared.result()
        try:
            with self._running:
                self._begin(shared)
                shared.set_result(self._read())
        except BaseException as error:
            # Also if this caller is interrupted while it waits for its turn: nobody else would ever read.
            self._begin(shared)
            shared.set_exception(error)
            raise
        return shared.result()

    def _begin(self, shared: Future[V]) -> None:
        """Let who asks from now on share the next read."""
        with self._lock:
            if self._next is shared:
                self._next = None
