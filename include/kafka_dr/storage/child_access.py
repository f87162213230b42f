"""Access to a file system by one child process, which is left alone when it hangs, and replaced."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.storage import child_process
from kafka_dr.storage.access import AccessDeadline, Operation


@dataclass(frozen=True, slots=True)
class _Child:
    """A child that runs, and how to speak to it."""

    process: subprocess.Popen[bytes]
    channel: socket.socket

    @classmethod
    def start(cls) -> _Child:
        own, childs = socket.socketpair()
        # Not a fork: Kafka clients have threads. No output is shared, so nothing waits for a child that hangs to close
        # it; and a session of its own, so that a signal to this process's group leaves the child to finish a file.
        with childs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(child_process.__file__)), str(childs.fileno())],
                pass_fds=(childs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return cls(process, own)

    def leave_alone(self) -> None:
        """Let the child end when it can; nobody waits for it."""
        self.forget()
        with suppress(OSError):
            os.kill(self.process.pid, signal.SIGKILL)
        Thread(target=_reap, args=(self.process.pid,), name="storage: child that ends", daemon=True).start()

    def forget(self) -> None:
        """Close the channel, on which the child ends."""
        self.channel.close()
        # The interpreter would warn about a child that still runs.
        self.process.returncode = 0


class ChildAccess:
    """Does things with a file system, one after the other, in one child process that is started when it is needed.

    :param deadline: how long an access may take
    """

    def __init__(self, deadline: AccessDeadline) -> None:
        self._deadline = deadline
        self._lock = Lock()
        self._child: _Child | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    @property
    def process_id(self) -> int | None:
        """The id of the child process; ``None`` while there is none."""
        return None if self._child is None else self._child.process.pid

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it, and return the content, or the answer as text; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        self._deadline.refuse_while_silent(path)
        seconds = self._deadline.seconds_for(len(data) + size)
        deadline = monotonic() + seconds
        request = {"operation": operation, "path": str(path), "other": str(other), "offset": offset, "size": size}
        if not self._lock.acquire(timeout=seconds):
            raise self._deadline.left_alone(operation, path, seconds)
        try:
            return self._asked(request, data, deadline)
        except TimeoutError:
            self._drop()
            raise self._deadline.left_alone(operation, path, seconds) from None
        finally:
            self._lock.release()

    def _asked(self, request: dict[str, object], data: bytes, deadline: float) -> bytes:
        """Ask the child; one that has ended is replaced, once."""
        for last in (False, True):
            child = self._running()

            def next_wait(child: _Child = child) -> None:
                child.channel.settimeout(_left(deadline))

            try:
                next_wait()
                child_process.send(child.channel, request, data)
                answer, found = child_process.receive(child.channel, next_wait)
            except (EOFError, ConnectionError) as error:
                self._drop()
                if last:
                    raise OSError(f"the process that reaches {request['path']} ended: {cause(error)}") from error
                continue
            if answer:
                raise OSError(answer["errno"], answer["said"], answer["path"])
            return found
        raise AssertionError("not reached")

    def _running(self) -> _Child:
        if self._child is None:
            self._child = _Child.start()
        return self._child

    def _drop(self) -> None:
        if self._child is not None:
            self._child.leave_alone()
            self._child = None

    def _forget(self) -> None:
        """Forget the parent's child and lock: a forked process needs its own."""
        self._lock = Lock()
        self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.forget()


def _reap(process: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left
