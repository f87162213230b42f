"""Access to an object store by a thread for each request, which is left alone when it hangs.

Such a thread waits for a socket. It does not keep its process from ending.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from kafka_dr.storage.access import AccessDeadline, Operation


class ThreadAccess:
    """Does things with the paths of an object store.

    :param deadline: how long an access may take
    """

    def __init__(self, deadline: AccessDeadline) -> None:
        self._deadline = deadline

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it, and return the content, or the answer as text; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        self._deadline.refuse_while_silent(path)
        seconds = self._deadline.seconds_for(len(data) + size)
        answers: SimpleQueue[tuple[bytes, Exception | None]] = SimpleQueue()

        def answer() -> None:
            try:
                answers.put((_act(operation, path, other, (offset, size), data), None))
            except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
                answers.put((b"", error))

        Thread(target=answer, name=f"storage: {operation}", daemon=True).start()
        try:
            found, error = answers.get(timeout=seconds)
        except Empty:
            raise self._deadline.left_alone(operation, path, seconds) from None
        if error is not None:
            raise error
        return found


def _act(operation: Operation, target: Any, other: Any, part: tuple[int, int], data: bytes) -> bytes:
    if operation == "read":
        return _read(target, *part)
    if operation == "list":
        return json.dumps([each.name for each in target.iterdir()]).encode()
    answers: dict[str, Callable[[], Any]] = {
        "size": lambda: target.stat().st_size,
        "is_folder": lambda: int(target.is_dir()),
        "create": lambda: _write(target, "xb", data),
        "replace": lambda: _write(target, "wb", data),
        "make_folder": lambda: target.mkdir(parents=True, exist_ok=True),
        "remove": lambda: target.unlink(),
        "remove_folder": lambda: target.rmdir(recursive=True),
        "rename": lambda: target.rename(other),
    }
    found = answers[operation]()
    return str(found if isinstance(found, int) else 0).encode()


def _read(path: Any, offset: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return bytes(file.read(size))


def _write(path: Any, mode: str, data: bytes) -> None:
    with path.open(mode) as file:
        file.write(data)
        with suppress(AttributeError):
            file.flush()
