"""The storage that evidence is kept in: ``pathlib``'s paths, or an object store's that work the same way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, Protocol


class StoragePath(Protocol):
    """What evidence needs of a path: ``pathlib.Path`` and Airflow's ``ObjectStoragePath`` both have it.

    A file that is opened with mode ``xb`` must not exist yet: that keeps evidence from being overwritten.
    """

    @property
    def name(self) -> str:
        """The last part."""
        ...

    def joinpath(self, *parts: str) -> Any:
        """Return a path below this one."""
        ...

    def open(self, mode: str) -> IO[Any]:
        """Open the file."""
        ...

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Create the folder."""
        ...

    def iterdir(self) -> Iterable[Any]:
        """Return what is directly in this folder."""
        ...

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        ...


def create_file(path: StoragePath, data: bytes) -> None:
    """Write a file that must not exist yet, and have the disk confirm it, where there is a disk.

    :raises FileExistsError: the file exists
    """
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        # These are what the file of an object store answers to fileno.
        with suppress(AttributeError, ValueError, NotImplementedError):
            os.fsync(file.fileno())


def file_names(folder: StoragePath) -> set[str]:
    """Return the names of the files in a folder; none if the folder does not exist."""
    try:
        return {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def read_file(path: StoragePath) -> bytes | None:
    """Return the content of a file; ``None`` if it does not exist."""
    try:
        return bytes(path.read_bytes())
    except FileNotFoundError:
        return None


def read_folder(folder: StoragePath) -> dict[str, bytes]:
    """Return the content of every file in a folder, by name."""
    return {name: data for name in file_names(folder) if (data := read_file(folder.joinpath(name))) is not None}
