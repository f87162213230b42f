"""The kind of path that evidence lives under: pathlib's, or an object store's with the same manners."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, Protocol


class StoragePath(Protocol):
    """What is asked of a path: ``pathlib.Path`` and Airflow's ``ObjectStoragePath`` both answer it.

    A file opened with mode ``xb`` must not exist before: that is what keeps evidence from being overwritten.
    """

    @property
    def name(self) -> str:
        """The last part."""
        ...

    def joinpath(self, *parts: str) -> Any:
        """Return a place below this one."""
        ...

    def open(self, mode: str) -> IO[Any]:
        """Open the file here."""
        ...

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Make the folder here."""
        ...

    def iterdir(self) -> Iterable[Any]:
        """Return the places right below this folder."""
        ...

    def read_bytes(self) -> bytes:
        """Return the content of the file here."""
        ...
