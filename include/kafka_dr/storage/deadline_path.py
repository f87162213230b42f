"""Paths whose every access has a deadline. They work like ``pathlib.Path``, as far as this project uses it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kafka_dr.storage.access import ACCESS_SECONDS, AccessDeadline, StorageAccess
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.thread_access import ThreadAccess

#: How much is read at once; each part has its own deadline.
_PART = 8 * 1024 * 1024
_BUFFER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DeadlinePath:
    """A path, and what touches it.

    :param path: ``pathlib.Path``, or an object store's path with the same methods; only its name is used here
    """

    path: Any
    access: StorageAccess = field(repr=False, compare=False)

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, part: str) -> DeadlinePath:
        return self.joinpath(part)

    @property
    def name(self) -> str:
        """The last part."""
        return str(self.path.name)

    @property
    def parent(self) -> DeadlinePath:
        """The folder that this is in."""
        return DeadlinePath(self.path.parent, self.access)

    def joinpath(self, *parts: str) -> DeadlinePath:
        """Return a path below this one."""
        return DeadlinePath(self.path.joinpath(*parts), self.access)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the file: ``rb``, ``wb``, or ``xb`` for one that must not exist yet.

        What is written reaches the storage when the file is closed, at once, and not if the ``with`` ends in an error.

        :raises FileNotFoundError: there is no file to be read
        """
        if mode == "rb":
            return io.BufferedReader(_ReadFile(self), _BUFFER)
        operation = {"wb": "replace", "xb": "create"}[mode]
        return _WrittenFile(lambda data: self.access.do(operation, self.path, data=data))  # type: ignore[arg-type]

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        parts: list[bytes] = []
        while not parts or len(parts[-1]) == _PART:
            parts.append(self.access.do("read", self.path, offset=_PART * len(parts), size=_PART))
        return b"".join(parts)

    def iterdir(self) -> Iterator[DeadlinePath]:
        """Return what is directly in this folder."""
        return iter([self.joinpath(name) for name in json.loads(self.access.do("list", self.path))])

    def size(self) -> int:
        """Return the size of the file, in bytes."""
        return int(self.access.do("size", self.path))

    def is_dir(self) -> bool:
        """Return whether this is a folder."""
        return bool(int(self.access.do("is_folder", self.path)))

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Create the folder, and those that it is in, unless they exist."""
        self.access.do("make_folder", self.path)

    def unlink(self) -> None:
        """Remove the file."""
        self.access.do("remove", self.path)

    def rmdir(self, *, recursive: bool) -> None:
        """Remove the folder with everything in it."""
        self.access.do("remove_folder", self.path)

    def rename(self, target: Any) -> None:
        """Give the file another path; a file that is there is replaced."""
        self.access.do("rename", self.path, other=target.path if isinstance(target, DeadlinePath) else target)


class _ReadFile(io.RawIOBase):
    """A file that is read in parts."""

    def __init__(self, path: DeadlinePath) -> None:
        self._path = path
        self._size = path.size()
        self._offset = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._offset = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size}[whence]
        return self._offset

    def tell(self) -> int:
        return self._offset

    def readinto(self, buffer: Any) -> int:
        if self._offset >= self._size:
            return 0
        found = self._path.access.do("read", self._path.path, offset=self._offset, size=min(len(buffer), _PART))
        buffer[: len(found)] = found
        self._offset += len(found)
        return len(found)


class _WrittenFile(io.BytesIO):
    """A file that is written when it is closed."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        super().__init__()
        self._write = write

    def close(self) -> None:
        if self.closed:
            return
        data = self.getvalue()
        super().close()
        self._write(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            super().close()
        self.close()

    def __del__(self) -> None:
        # What nobody closed is not written.
        super().close()


def with_deadline(root: Any, *, seconds: float = ACCESS_SECONDS) -> DeadlinePath:
    """Return a path whose every access, and every access below it, has a deadline.

    :param root: ``pathlib.Path``, an object store's path with the same methods, or what this returned
    :param seconds: how long one access to a small file may take
    """
    if isinstance(root, DeadlinePath):
        return root
    if isinstance(root, Path):
        return DeadlinePath(root, _shared_child(seconds))
    return DeadlinePath(root, ThreadAccess(AccessDeadline(seconds)))


@cache
def _shared_child(seconds: float) -> ChildAccess:
    """Return the one child of this process: it stays warm between accesses."""
    return ChildAccess(AccessDeadline(seconds))
