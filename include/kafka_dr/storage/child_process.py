"""The process that touches the file system. It may hang forever; nothing waits for it.

It is started as a script, with the standard library alone, so that it is ready within a few hundredths of a second.
Requests and answers are a JSON object and some bytes, each with its length in front. It ends when its parent has ended.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LENGTHS = struct.Struct("!QQ")


def send(channel: socket.socket, head: dict[str, Any], data: bytes) -> None:
    """Send an object and some bytes."""
    said = json.dumps(head).encode()
    channel.sendall(_LENGTHS.pack(len(said), len(data)) + said)
    if data:
        channel.sendall(data)


def receive(channel: socket.socket, before_each: Callable[[], None] = lambda: None) -> tuple[dict[str, Any], bytes]:
    """Receive what :func:`send` sent.

    :param before_each: called before each wait
    :raises EOFError: the process at the other end has ended
    """
    said, size = _LENGTHS.unpack(_exactly(channel, _LENGTHS.size, before_each))
    return json.loads(_exactly(channel, said, before_each)), bytes(_exactly(channel, size, before_each))


def _exactly(channel: socket.socket, size: int, before_each: Callable[[], None]) -> bytearray:
    found = bytearray()
    while len(found) < size:
        before_each()
        part = channel.recv(min(size - len(found), 1 << 20))
        if not part:
            raise EOFError("the process at the other end has ended")
        found += part
    return found


def _write(path: str, data: bytes, flags: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        # A part of a file, where the disk is full, would be taken for evidence that was cut off.
        Path(path).unlink()
        raise


def _read(path: str, offset: int, size: int) -> bytes:
    with Path(path).open("rb") as file:
        file.seek(offset)
        return file.read(size)


def act(request: dict[str, Any], data: bytes) -> bytes:
    """Carry out one request.

    :raises OSError: the file system refuses
    """
    operation, path = request["operation"], request["path"]
    if operation == "read":
        return _read(path, request["offset"], request["size"])
    if operation == "list":
        return json.dumps([each.name for each in Path(path).iterdir()]).encode()
    answers: dict[str, Callable[[], Any]] = {
        "size": lambda: Path(path).stat().st_size,
        "is_folder": lambda: int(Path(path).is_dir()),
        "create": lambda: _write(path, data, os.O_EXCL),
        "replace": lambda: _write(path, data, os.O_TRUNC),
        "make_folder": lambda: Path(path).mkdir(parents=True, exist_ok=True),
        "remove": lambda: Path(path).unlink(),
        "remove_folder": lambda: shutil.rmtree(path),
        "rename": lambda: Path(path).replace(request["other"]),
    }
    found = answers[operation]()
    return str(found if isinstance(found, int) else 0).encode()


def serve(channel: socket.socket) -> None:
    """Answer requests until the parent ends."""
    while True:
        try:
            request, data = receive(channel)
        except (EOFError, OSError):
            return
        try:
            found = act(request, data)
        except OSError as error:
            send(channel, {"errno": error.errno, "said": error.strerror, "path": error.filename}, b"")
        else:
            send(channel, {}, found)


if __name__ == "__main__":
    # Evidence is for the user of this project alone, whatever that user's mask is.
    os.umask(0o077)
    serve(socket.socket(fileno=int(sys.argv[1])))
