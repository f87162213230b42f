"""What is asked of the storage, and the error when it does not answer."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import Any, Literal, Protocol

from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain

#: How long one access may take, unless the topology says otherwise.
ACCESS_SECONDS = 10.0
#: How long nothing is asked after an access was left alone: each further one would wait for its own deadline.
_LEFT_ALONE_SECONDS = 60.0
#: The least that storage moves in a second, in bytes. A large file has more time.
_SLOWEST = 4 * 1024 * 1024

#: ``read``: at most ``size`` bytes from ``offset`` on. ``size``: of the file. ``create``: it must not exist yet.
#: ``replace``: write it, whatever it was. ``remove_folder``: with everything in it.
Operation = Literal[
    "read", "size", "create", "replace", "list", "make_folder", "remove", "remove_folder", "rename", "is_folder"
]


class StorageSilent(TryAgain, TimeoutError):
    """The storage did not answer in time. What was asked may still happen."""


class StorageAccess(Protocol):
    """Does one thing with the storage, within a deadline.

    :raises StorageSilent: there was no answer in time
    :raises OSError: the storage refuses, with its own error number
    """

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it, and return the content, or the answer as text.

        :param path: a path object
        :param other: the new path of the file, a path object
        """
        ...


class AccessDeadline:
    """How long an access is waited for. After one that was left alone, nothing is waited for during a minute.

    :param seconds: of an access to a small file
    """

    def __init__(self, seconds: float = ACCESS_SECONDS, *, left_alone_seconds: float = _LEFT_ALONE_SECONDS) -> None:
        self._seconds = seconds
        self._left_alone_seconds = left_alone_seconds
        self._lock = Lock()
        self._silent_until = 0.0

    def seconds_for(self, size: int) -> float:
        """Return how long an access may take that moves so many bytes."""
        return self._seconds + size / _SLOWEST

    def refuse_while_silent(self, path: object) -> None:
        """Refuse an access if another one was left alone less than a minute ago.

        :raises StorageSilent: one was
        """
        with self._lock:
            left = self._silent_until - monotonic()
        if left > 0:
            raise StorageSilent(
                f"the storage of {path} did not answer within {duration(self._seconds)}, and is asked again in "
                f"{duration(left)}: find out whether the file system or object store of evidence.root works"
            )

    def left_alone(self, operation: Operation, path: object, seconds: float) -> StorageSilent:
        """Remember that an access was left alone, and return its error."""
        with self._lock:
            self._silent_until = monotonic() + self._left_alone_seconds
        what = operation.replace("_", " ")
        return StorageSilent(
            f"no answer to {what} {path} within {duration(seconds)}: the storage hangs; find out whether the file "
            "system or object store of evidence.root works"
        )
