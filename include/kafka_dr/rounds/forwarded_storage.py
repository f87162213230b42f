"""Storage below the evidence root, as a child process reaches it: through its parent, which has the connections."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import PurePath
from queue import SimpleQueue
from threading import Lock
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.storage.access import Operation, StorageSilent
from kafka_dr.storage.deadline_path import DeadlinePath

#: What is sent, and the bytes after it.
Message = tuple[dict[str, Any], bytes]


class ForwardedAccess:
    """Asks the parent to do things with the storage; it has the deadline of each access.

    :param send: sends a message to the parent
    """

    def __init__(self, send: Callable[[dict[str, Any], bytes], None]) -> None:
        self._send = send
        self._numbers = count()
        self._lock = Lock()
        self._waiting: dict[int, SimpleQueue[Message]] = {}

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it, and return the content, or the answer as text; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        asked = {"operation": operation, "path": str(path), "other": str(other), "offset": offset, "size": size}
        head, found = self.ask({"kind": "storage", **asked}, data)
        if "silent" in head:
            raise StorageSilent(head["silent"])
        if "errno" in head:
            raise OSError(head["errno"], head["said"], head["path"])
        return found

    def ask(self, head: dict[str, Any], data: bytes = b"") -> Message:
        """Send a question to the parent, and return its answer."""
        answers: SimpleQueue[Message] = SimpleQueue()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = answers
        self._send({**head, "number": number}, data)
        return answers.get()

    def answered(self, head: dict[str, Any], found: bytes) -> None:
        """Take an answer of the parent."""
        with self._lock:
            waiting = self._waiting.pop(head["number"], None)
        if waiting is not None:
            waiting.put((head, found))


def answer(root: DeadlinePath, asked: dict[str, Any], data: bytes) -> Message:
    """Do for a child what it asks of the storage, and return the answer.

    :param root: the evidence root; nothing outside it is touched
    """
    head: dict[str, Any] = {"kind": "storage", "number": asked["number"]}
    try:
        other = _below(root, asked["other"]) if asked["other"] else ""
        found = root.access.do(
            asked["operation"],
            _below(root, asked["path"]),
            other=other,
            offset=asked["offset"],
            size=asked["size"],
            data=data,
        )
    except StorageSilent as silent:
        return {**head, "silent": str(silent)}, b""
    except OSError as error:
        return {**head, "errno": error.errno or 0, "said": error.strerror or cause(error), "path": error.filename}, b""
    return head, found


def _below(root: DeadlinePath, path: str) -> Any:
    """Return the parent's path object of a child's path.

    :raises PermissionError: it leads out of the evidence root
    """
    try:
        parts = PurePath(path).relative_to(PurePath(str(root))).parts
    except ValueError:
        parts = ("..",)
    if ".." in parts:
        raise PermissionError(1, "it is outside the evidence root", path)
    return root.joinpath(*parts).path
